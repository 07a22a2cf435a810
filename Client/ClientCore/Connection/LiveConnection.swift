import QueueModel
import SequenceCRDT
import WireProtocol

/// A connection after `welcome`.
///
/// ```text
/// phase     catching up ──all of the log of `welcome` is here──▶ caught up
///                │                                               │
///                └──the log lacks what is here──▶ offering ◀─────┘
///
/// sending   open ◀──time, or a person── held       (the server refused for now)
///             └──refused for good──▶ refused       (until the next connection)
/// ```
struct LiveConnection: Sendable {
  /// How far the device is with the server's log.
  enum Phase: Hashable, Sendable {
    /// Once all of the log as it was at the start is here, the device has caught up.
    case catchingUp(to: LogPrefix)
    case caughtUp
    /// The server has to have joined this device's state until then, and ends the connection.
    case offering(until: Int64, hasCaughtUp: Bool)
  }

  /// Whether batches go out.
  enum Sending: Hashable, Sendable {
    case open
    case held(until: Int64)
    /// Not on this connection any more.
    case refused
  }

  /// A snapshot that is coming in.
  struct Assembly: Sendable {
    var count: UInt32
    var nextIndex: UInt32
    var bytes: [UInt8]
  }

  let id: TransportID
  let since: Int64
  let sinceWall: Int64
  let pingMilliseconds: Int64
  var phase: Phase
  var sending = Sending.open
  /// The position that the server's log is known to have reached.
  var head: UInt64
  var lastHeard: Int64
  var lastPing: Int64
  var window = SendWindow()
  var assembly: Assembly?
  /// When what came is made durable and acknowledged at the latest; nil if it was.
  var acknowledgeAt: Int64?

  var hasCaughtUp: Bool {
    switch phase {
    case .catchingUp: false
    case .caughtUp: true
    case .offering(_, let hasCaughtUp): hasCaughtUp
    }
  }

  var isOffering: Bool { if case .offering = phase { true } else { false } }

  /// Whether nothing but the window stands in the way of outgoing operations.
  var maySend: Bool { sending == .open && phase == .caughtUp }

  /// Whether all that the log holds is on its way, so that a request comes behind it.
  func hasSent(through entry: Int64) -> Bool {
    maySend && window.voidedAnswers == 0 && window.cursor >= entry
  }

  /// The log is here up to a position.
  mutating func reached(_ position: UInt64) {
    head = max(head, position)
    if case .catchingUp(let target) = phase, position >= target.position { phase = .caughtUp }
  }

  /// The next time at which something is due.
  var deadline: Int64 {
    var next = min(
      lastHeard + ClientLimits.silenceMilliseconds,
      max(lastPing, lastHeard) + pingMilliseconds)
    if let answerDeadline = window.answerDeadline { next = min(next, answerDeadline) }
    if case .offering(let until, _) = phase { next = min(next, until) }
    if case .held(let until) = sending { next = min(next, until) }
    if let acknowledgeAt { next = min(next, acknowledgeAt) }
    return next
  }
}
