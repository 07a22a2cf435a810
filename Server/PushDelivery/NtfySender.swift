import AsyncHTTPClient
import Basics
import NIOCore
import NIOHTTP1
import PushNotices

/// Publishes to an ntfy server, as JSON (ntfy's documentation, "Publish as JSON").
struct NtfySender: Sendable {
  var exchange: PushExchange
  var answering: NtfyAnswering?

  func send(_ push: Push, at address: NtfyAddress, now: Int64) async -> PushOutcome {
    if case .alert(let notice) = push, let expiresAt = notice.expiresAt, expiresAt <= now {
      return .rejected(reason: "it has expired")
    }
    do {
      let answer = try await exchange.send(try request(push, at: address), now: now)
      return outcome(of: answer, to: push, at: address)
    } catch let failure as TransportFailure {
      return .retry(after: nil, reason: failure.reason)
    } catch {
      return .rejected(reason: "it cannot be written as JSON")
    }
  }

  private func request(_ push: Push, at address: NtfyAddress) throws -> HTTPClientRequest {
    var request: HTTPClientRequest
    if case .retract(let id) = push {
      // Marks it as read and removes it from the screen, on all subscribers of the topic.
      request = HTTPClientRequest(
        url: "\(address.server)/\(address.topic.reveal())/\(id.text)/clear")
      request.method = .PUT
    } else {
      request = HTTPClientRequest(url: address.server + "/")
      request.method = .POST
      request.headers.add(name: "Content-Type", value: "application/json")
      let bytes = try JSONText.bytes(try message(push, topic: address.topic))
      request.body = .bytes(ByteBuffer(bytes: bytes))
    }
    if let token = address.accessToken {
      request.headers.add(name: "Authorization", value: "Bearer " + token.reveal())
    }
    return request
  }

  private func message(_ push: Push, topic: Secret) throws -> NtfyMessage {
    switch push {
    case .alert(let notice):
      var message = NtfyMessage(notice, topic: topic)
      let actions = try actions(of: notice, isWhole: message.isWhole)
      if !actions.isEmpty { message.actions = actions }
      return message
    case .liveActivity(let push): return NtfyMessage(push, topic: topic)
    case .retract(let id): return NtfyMessage(topic: topic, sequence: id, message: "")
    }
  }

  /// A denial if the server accepts answers, and also an approval if the message shows the complete
  /// request. Links would be useless here: an app that opens `cospool` links gets notices from its
  /// own service.
  private func actions(
    of notice: PushNotice, isWhole: Bool
  ) throws -> [NtfyMessage.Action] {
    var actions: [NtfyMessage.Action] = []
    if let answering, notice.category == .approvalRequest, let requestID = notice.requestID,
      let addressee = notice.addressee
    {
      // A button stays on the screen after its request has ended.
      let expiresAt = notice.expiresAt ?? notice.createdAt.addingClamped(Self.answerMilliseconds)
      var buttons = [(decision: AnswerTicket.Decision.deny, label: "Deny", digest: "")]
      if isWhole, let digest = notice.digest {
        buttons.insert((.approve, "Approve", digest), at: 0)
      }
      for (decision, label, digest) in buttons {
        actions.append(
          NtfyMessage.Action(
            action: "http", label: label, url: answering.url, method: "POST",
            headers: ["Content-Type": "application/json"],
            body: try answering.body(
              for: AnswerTicket(
                workspaceID: addressee.workspaceID, deviceID: addressee.deviceID,
                sessionID: notice.sessionID, requestID: requestID, decision: decision,
                digest: digest, expiresAt: expiresAt)),
            clear: true))
      }
    }
    return actions
  }

  static let answerMilliseconds: Int64 = 86_400_000

  private func outcome(
    of answer: HTTPAnswer, to push: Push, at address: NtfyAddress
  ) -> PushOutcome {
    let body = JSONBody(answer.body)
    let secrets = [address.topic, address.accessToken].compactMap { $0 }
    let said = ProviderWords.said(answer.status, body.text("error"), hiding: secrets)
    if case .retract = push, [404, 405].contains(answer.status) {
      return .rejected(
        reason: "\(said): the ntfy server cannot withdraw notifications; it needs version 2.16 "
          + "or newer")
    }
    switch answer.status {
    case 200..<300:
      return .delivered(providerID: ProviderWords.id(body.text("id"), hiding: secrets))
    case 300..<400:
      return .targetError(
        reason: "\(said): the address redirects; register the address it redirects to")
    case 401, 403:
      return .targetError(
        reason: "\(said): the ntfy server requires a valid access token to publish")
    case 404: return .targetError(reason: "\(said): there is no ntfy server at this address")
    case 408, 425, 429, 500...: return .retry(after: answer.retryAfter, reason: said)
    default: return .rejected(reason: said)
    }
  }
}

/// Text from a provider, made safe for users and logs.
enum ProviderWords {
  /// A provider's own id of a message, if it looks like one.
  static func id(_ text: String?, hiding secrets: [Secret]) -> String? {
    guard let text, (1...32).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isIdentifier),
      !secrets.contains(where: { text.contains($0.reveal()) })
    else { return nil }
    return text
  }

  /// - Parameter secrets: parts of the request that an answer may quote, to be removed.
  static func said(_ status: Int, _ text: String?, hiding secrets: [Secret]) -> String {
    guard var text, !text.isEmpty else { return "status \(status)" }
    for secret in secrets where !secret.isEmpty {
      text.replace(secret.reveal(), with: Redaction.mark)
    }
    let line = String(
      text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    return "status \(status): \(Redaction.shown(line))"
  }
}

/// A message of ntfy.
struct NtfyMessage: Encodable {
  struct Action: Encodable {
    var action: String
    var label: String
    var url: String
    var method: String?
    var headers: [String: String]?
    var body: String?
    var clear: Bool?
  }

  var topic: String
  var title: String?
  var message: String
  /// 1 to 5; 3 is ntfy's default.
  var priority = 3
  var tags: [String] = []
  var actions: [Action]?
  var sequence: String
  /// Whether the text is complete.
  var isWhole = true

  enum CodingKeys: String, CodingKey {
    case topic, title, message, priority, tags, actions
    case sequence = "sequence_id"
  }

  init(topic: Secret, sequence: PushNoticeID, message: String) {
    self.topic = topic.reveal()
    self.sequence = sequence.text
    self.message = message.prefixWithin(bytes: PushLimits.ntfyMessageBytesMax)
    isWhole = self.message == message
  }

  init(_ notice: PushNotice, topic: Secret) {
    let text = notice.details.map { "\(notice.body)\n\n\($0)" } ?? notice.body
    self.init(topic: topic, sequence: notice.id, message: text)
    title = notice.title.prefixWithin(bytes: PushLimits.shownCharactersMax * 4)
    switch notice.category {
    case .approvalRequest:
      tags = ["lock"]
      priority = 4
    case .questionAsked:
      tags = ["question"]
      priority = 4
    case .taskComplete: tags = ["white_check_mark"]
    case .taskError:
      tags = ["x"]
      priority = 4
    case .threadReady: tags = ["hourglass"]
    case .messageMerged:
      tags = ["twisted_rightwards_arrows"]
      priority = 4
    }
    if notice.isTimeSensitive { priority = 5 }
  }

  /// Replaces the previous message in place, without a sound.
  init(_ push: LiveActivityPush, topic: Secret) {
    self.init(topic: topic, sequence: push.id, message: push.content.line)
    title = push.event.word == "end" ? "Task ended" : "Task running"
    priority = 2
    tags = ["setup"]
  }
}

extension ActivityContent {
  /// The state in one line.
  var line: String {
    let state =
      switch status {
      case .idle: "Idle"
      case .processing: operation ?? "Working"
      case .awaitingApproval: "Needs approval"
      case .awaitingAnswer: "Needs an answer"
      case .completed:
        switch outcome {
        case .failure: "Failed"
        case .cancelled: "Stopped"
        case .success, nil: "Complete"
        }
      case .error: "Failed"
      }
    guard let progress else { return state }
    return "\(state) (\(progress.completed) of \(progress.total))"
  }
}
