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
/// sending   open ◀──time, or a user── held         (the server refused for now)
///             └──refused for good──▶ refused       (until the next connection)
/// ```
struct LiveConnection: Sendable {
  /// How much of the server's log the device has.
  enum Phase: Hashable, Sendable {
    /// The device has caught up once it has the whole log up to its position at the start.
    case catchingUp(to: LogPrefix)
    case caughtUp
    /// The server must have joined this device's state by then; it ends the connection.
    case offering(until: Int64, hasCaughtUp: Bool)
  }

  /// Whether batches are sent.
  enum Sending: Hashable, Sendable {
    case open
    case held(until: Int64)
    /// No longer on this connection.
    case refused
  }

  /// A snapshot that is being received.
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
  /// The latest known position of the server's log.
  var head: UInt64
  var lastHeard: Int64
  var lastPing: Int64
  var window = SendWindow()
  var assembly: Assembly?
  /// The latest time to make received changes durable and acknowledge them; nil if that is done.
  var acknowledgeAt: Int64?

  var hasCaughtUp: Bool {
    switch phase {
    case .catchingUp: false
    case .caughtUp: true
    case .offering(_, let hasCaughtUp): hasCaughtUp
    }
  }

  var isOffering: Bool { if case .offering = phase { true } else { false } }

  /// Whether only the window limits outgoing operations.
  var maySend: Bool { sending == .open && phase == .caughtUp }

  /// Whether everything up to a log entry was sent, so that a request comes after it.
  func hasSent(through entry: Int64) -> Bool {
    maySend && window.voidedAnswers == 0 && window.cursor >= entry
  }

  /// The device has the log up to a position.
  mutating func reached(_ position: UInt64) {
    head = max(head, position)
    if case .catchingUp(let target) = phase, position >= target.position { phase = .caughtUp }
  }

  /// The next time at which something must be done.
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
