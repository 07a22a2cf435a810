import NIOCore
import NIOHTTP1
import NIOPosix
import PushDelivery
import QueueModel
import ServerCore
import WireProtocol

/// Answers that the buttons of pushed notices post; SPECIFICATION.md, section "Answers by button".
extension ServerDriver {
  /// Checks a post, and lets the authority decide.
  func answer(_ body: [UInt8], from source: String) -> EventLoopFuture<HTTPReply> {
    decide(body, from: source).map { $0.forBrowsers }
  }

  private func decide(_ body: [UInt8], from source: String) -> EventLoopFuture<HTTPReply> {
    let reply: HTTPReply
    switch setup.answering?.read(body, now: ProcessClock.wallMilliseconds) {
    case nil:
      reply = HTTPReply(.notFound, text: "This server does not accept answers by button.")
    case .unreadable:
      reply = HTTPReply(.badRequest, text: "The request is not the answer of a button.")
    case .forged:
      journal.deniedAccess("answer forged", route: "answers", source: source)
      reply = HTTPReply(
        .forbidden, text: "This answer was not signed by this server, or was changed.")
    case .expired:
      reply = HTTPReply(.gone, text: "Too late: the request has expired.")
    case .ticket(let ticket):
      return take(ticket)
    }
    return loop.makeSucceededFuture(reply)
  }

  private func take(_ ticket: AnswerTicket) -> EventLoopFuture<HTTPReply> {
    // The server signed it, so its ids are valid, unless an earlier version used other ids.
    guard let workspace = WorkspaceID(ticket.workspaceID), let device = DeviceID(ticket.deviceID),
      let request = RequestID(ticket.requestID), let session = try? SessionID(ticket.sessionID)
    else {
      return loop.makeSucceededFuture(
        HTTPReply(.badRequest, text: "The request is not the answer of a button."))
    }
    guard !postedAnswers.isFull, !isStopped,
      let queue = store.storage as? any PushQueue
    else { return loop.makeSucceededFuture(.postAgain) }
    let answer = AnswerRequest(
      session: session, request: request,
      verdict: ticket.decision == .approve ? .allowed : .denied,
      digest: ContentHash(ticket.digest))
    let bound = bound
    let now = ProcessClock.wallMilliseconds
    return store.run { _ in
      // A notice for the user is answered on behalf of the device that set the address.
      try queue.validTargets(of: [device, .person], in: workspace, at: now)
        .contains { $0.setBy == device }
    }.flatMap { isPushedTo -> EventLoopFuture<HTTPReply> in
      let driver = bound.value
      // The owner of a lost phone revokes its access, and with it its buttons.
      guard isPushedTo else {
        return driver.loop.makeSucceededFuture(
          HTTPReply(
            .forbidden,
            text: "The device of this notification no longer has access or a push target."))
      }
      return driver.post(answer, by: device, in: workspace).map { HTTPReply($0, answer.verdict) }
    }.flatMapErrorThrowing { _ in .postAgain }
  }
}

extension HTTPReply {
  static let tooLarge = HTTPReply(
    .payloadTooLarge, text: "An answer has at most \(NtfyAnswering.bodyBytesMax) bytes.")

  /// The page of an ntfy server may post here and read the answer. All credentials are in the body,
  /// so a page has no more rights than a program.
  fileprivate var forBrowsers: HTTPReply {
    var reply = self
    reply.headers = [
      ("access-control-allow-origin", "*"), ("access-control-allow-methods", "POST"),
      ("access-control-allow-headers", "content-type"),
    ]
    return reply
  }

  fileprivate static let postAgain = HTTPReply(
    .serviceUnavailable, text: "The answer cannot be stored now. Try again.")

  fileprivate init(_ outcome: PostedAnswerOutcome, _ verdict: Verdict) {
    switch outcome {
    case .taken(isRepeated: false):
      self.init(.ok, text: verdict == .allowed ? "Allowed." : "Denied.")
    case .taken(isRepeated: true):
      self.init(
        .ok, text: verdict == .allowed ? "It was already allowed." : "It was already denied.")
    case .answeredAlready(let other, let device):
      let what =
        switch other {
        case .allowed: "allowed"
        case .denied: "denied"
        case .answered: "answered"
        case .cancelled: "cancelled"
        case .closed: "closed"
        }
      self.init(
        .conflict, text: "Too late: already answered\(device.map { " by \($0)" } ?? ""): \(what).")
    case .notAwaited:
      self.init(.gone, text: "Too late: the request is no longer open.")
    case .unavailable:
      self = .postAgain
    }
  }
}

/// Reads a button's post, one request per connection. The arrival gate limits its time.
final class AnswerConversation {
  private var body = ByteBuffer()

  /// The refusal by a request's head; nil if its body must be read.
  static func refusal(of head: HTTPRequestHead) -> HTTPReply? {
    switch head.method {
    case .POST: nil
    // A page of ntfy in a browser sends a preflight request. A browser adds no credentials of its
    // own here.
    case .OPTIONS: HTTPReply(.ok).forBrowsers
    default: HTTPReply(.methodNotAllowed, text: "Use POST.")
    }
  }

  /// - Returns: whether it still fits.
  func received(_ bytes: ByteBuffer) -> Bool {
    var bytes = bytes
    guard body.readableBytes + bytes.readableBytes <= NtfyAnswering.bodyBytesMax else {
      return false
    }
    body.writeBuffer(&bytes)
    return true
  }

  var bytes: [UInt8] { Array(body.readableBytesView) }
}
