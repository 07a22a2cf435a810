import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PushNotices

/// Posts signed JSON to an address that the user chose.
struct WebhookSender: Sendable {
  var exchange: PushExchange

  func send(_ push: Push, at address: WebhookAddress, now: Int64) async -> PushOutcome {
    if case .alert(let notice) = push, let expiresAt = notice.expiresAt, expiresAt <= now {
      return .rejected(reason: "it has expired")
    }
    do {
      let body = try JSONText.bytes(WebhookBody(push))
      guard body.count <= PushLimits.webhookBodyBytesMax else {
        return .rejected(reason: "it is larger than \(PushLimits.webhookBodyBytesMax) bytes")
      }
      var request = HTTPClientRequest(url: address.url.reveal())
      request.method = .POST
      request.headers.add(name: "Content-Type", value: "application/json")
      request.headers.add(name: "User-Agent", value: "cospool-server")
      request.headers.add(name: WebhookSignature.timestampHeader, value: String(now / 1_000))
      request.headers.add(
        name: WebhookSignature.signatureHeader,
        value: WebhookSignature.value(
          timestamp: now / 1_000, body: body, secret: address.secret))
      request.headers.add(
        name: WebhookSignature.idempotencyHeader, value: WebhookBody.idempotencyKey(of: push))
      request.body = .bytes(ByteBuffer(bytes: body))
      return outcome(of: try await exchange.send(request, now: now))
    } catch let failure as TransportFailure {
      return .retry(after: nil, reason: failure.reason)
    } catch {
      return .rejected(reason: "it cannot be written as JSON")
    }
  }

  /// The receiver's text is not returned: it may quote the request.
  private func outcome(of answer: HTTPAnswer) -> PushOutcome {
    let said = "status \(answer.status)"
    switch answer.status {
    case 200..<300: return .delivered(providerID: nil)
    case 300..<400:
      return .targetError(
        reason: "\(said): the address redirects; register the address it redirects to")
    case 401, 403, 404, 405:
      return .targetError(reason: "\(said): check the address and its access rules")
    case 410: return .invalidTarget(reason: "\(said): the address no longer exists", since: nil)
    case 408, 425, 429, 500...: return .retry(after: answer.retryAfter, reason: said)
    default: return .rejected(reason: said)
    }
  }
}

/// The body of a webhook's request.
struct WebhookBody: Encodable {
  struct Notice: Encodable {
    var category: String
    var title: String
    var body: String
    var details: String?
    var requestId: String?
    var link: String
    var expiresAt: Int64?
  }

  struct Status: Encodable {
    var status: String
    var operation: String?
    var completed: Int?
    var total: Int?
    var currentTask: String?
    var startedAt: Int64
  }

  var id: String
  var event: String
  var sessionId: String?
  /// Milliseconds since 1970.
  var createdAt: Int64?
  var notice: Notice?
  var status: Status?

  init(_ push: Push) {
    id = push.collapseID.text
    switch push {
    case .alert(let notice):
      event = "notification"
      sessionId = notice.sessionID
      createdAt = notice.createdAt
      self.notice = Notice(
        category: notice.category.rawValue, title: notice.title, body: notice.body,
        details: notice.details, requestId: notice.requestID, link: notice.link,
        expiresAt: notice.expiresAt)
    case .retract: event = "retracted"
    case .liveActivity(let push):
      event = "status." + push.event.pastWord
      sessionId = push.sessionID
      createdAt = push.timestamp
      let content = push.content
      status = Status(
        status: content.status.rawValue, operation: content.operation,
        completed: content.progress?.completed, total: content.progress?.total,
        currentTask: content.progress?.currentTask, startedAt: content.startedAt)
    }
  }

  /// The same for every attempt at the same push, and different for every other push.
  static func idempotencyKey(of push: Push) -> String {
    switch push {
    case .alert(let notice): notice.id.text
    case .retract(let id): "\(id.text).retracted"
    case .liveActivity(let push): "\(push.id.text).\(push.event.word).\(push.timestamp)"
    }
  }
}

extension LiveActivityPush.Event {
  fileprivate var pastWord: String {
    switch self {
    case .start: "started"
    case .update: "updated"
    case .end: "ended"
    }
  }
}
