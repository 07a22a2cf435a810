package import QueueModel
import SequenceCRDT
package import WireProtocol

/// Names one connection; events of an earlier one are dropped by it.
package struct ConnectionID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// What lets a device in.
package struct Credentials: Hashable, Sendable {
  /// The server's address, as the person gave it.
  package var server: String
  package var workspace: WorkspaceID
  package var workspaceName: String
  package var token: [UInt8]

  package init(server: String, workspace: WorkspaceID, workspaceName: String, token: [UInt8]) {
    self.server = server
    self.workspace = workspace
    self.workspaceName = workspaceName
    self.token = token
  }
}

/// The latest trouble with the server.
package struct Trouble: Hashable, Sendable {
  package var message: String
  package var refusal: RefusalCode?

  package init(message: String, refusal: RefusalCode? = nil) {
    self.message = message
    self.refusal = refusal
  }
}

/// The states of the connection.
enum Link: Sendable {
  /// Nobody runs the sync, it is turned off, there is no server, or the server refused for good.
  case idle(Idleness)
  /// Waits before the next try.
  case waiting(until: Int64)
  /// A transport is being opened.
  case connecting(ConnectionID, since: Int64)
  /// `hello` is under way.
  case greeting(ConnectionID, since: Int64)
  /// Changes flow.
  case exchanging(Exchange)

  enum Idleness: Sendable {
    case stopped
    case disabled
    case unpaired
    case refused
  }

  var connection: ConnectionID? {
    switch self {
    case .idle, .waiting: nil
    case .connecting(let id, _), .greeting(let id, _): id
    case .exchanging(let exchange): exchange.connection
    }
  }
}

/// An open session after `welcome`.
struct Exchange: Sendable {
  /// A batch that the server has not answered.
  struct Flight: Sendable {
    var batch: UInt64
    /// What its acknowledgement covers; empty where further parts of the same operations follow.
    var ranges: [OperationRange]
    var sentAt: Int64
    /// Bytes of the delta.
    var bytes: Int
    /// Bytes of all deltas that were under way with it.
    var load: Int

    /// How long it may take from when the line was its own.
    var milliseconds: Int64 { ClientLimits.answerMilliseconds(bytes: bytes) }
  }

  /// A snapshot that is coming in.
  struct Assembly: Sendable {
    var count: UInt32
    var nextIndex: UInt32
    var bytes: [UInt8]
  }

  let connection: ConnectionID
  let since: Int64
  let sinceWall: Int64
  let pingMilliseconds: Int64
  /// The server's log at the start; once all of it is here, the device has caught up.
  let target: LogPrefix
  var hasCaughtUp: Bool
  var head: UInt64
  var lastHeard: Int64
  var lastPing: Int64
  var lastBatch: UInt64 = 0
  var flights: [Flight] = []
  /// Bytes that may be under way for another batch to be sent.
  private(set) var windowBytes = ClientLimits.windowBytesFirst
  /// When the server answered a batch last; a line that is slow brings the answers one by one.
  var answeredAt = Int64.min
  /// Answers still to come for batches that will be sent again.
  var voidedAnswers = 0
  /// The log has been looked through for outgoing operations up to this entry.
  var cursor: Int64 = 0
  /// Nothing is sent before; `.max` is until the next connection.
  var heldUntil: Int64?
  var assembly: Assembly?
  /// Until when the server has to have joined this device's state; nil where it was not sent.
  var offerDeadline: Int64?
  /// When what came is made durable and acknowledged at the latest; nil where it was.
  var acknowledgeAt: Int64?

  /// Whether nothing but the window stands in the way of outgoing operations.
  var maySend: Bool { heldUntil == nil && hasCaughtUp && offerDeadline == nil }

  var bytesUnderWay: Int { flights.reduce(0) { $0 + $1.bytes } }

  /// Whether another batch may be sent before one is answered.
  var hasRoom: Bool {
    flights.count < ClientLimits.windowBatchesMax && bytesUnderWay < windowBytes
  }

  /// The flight of a batch that was answered; nil where it goes again.
  mutating func takeFlight(_ batch: UInt64, at now: Int64) -> Flight? {
    guard let index = flights.firstIndex(where: { $0.batch == batch }) else { return nil }
    let flight = flights.remove(at: index)
    noteAnswer(to: flight, at: now)
    return flight
  }

  /// A batch was answered: the window grows where the line was quick with all of it, and shrinks
  /// where it was slow, so that a request does not wait for long behind data.
  private mutating func noteAnswer(to flight: Flight, at now: Int64) {
    answeredAt = now
    let milliseconds = now - flight.sentAt
    let range = ClientLimits.windowBytesRange
    if milliseconds > ClientLimits.windowMilliseconds {
      windowBytes = max(windowBytes / 2, range.lowerBound)
    } else if milliseconds < ClientLimits.windowMilliseconds / 4, flight.load >= windowBytes {
      windowBytes = min(windowBytes * 2, range.upperBound)
    }
  }

  /// Whether all that the log holds is on its way, so that a request comes behind it.
  func hasSent(through entry: Int64) -> Bool {
    maySend && voidedAnswers == 0 && cursor >= entry
  }

  /// Sends everything unacknowledged again, once the answers under way have come.
  mutating func voidFlights(alreadyAnswered: Int) {
    voidedAnswers += max(0, flights.count - alreadyAnswered)
    flights = []
    cursor = 0
  }

  /// When the answer to the oldest batch is overdue; nil where none is awaited.
  var answerDeadline: Int64? {
    flights.first.map { max($0.sentAt, answeredAt) + $0.milliseconds }
  }

  /// The next time at which something is due.
  var deadline: Int64 {
    var next = min(
      lastHeard + ClientLimits.silenceMilliseconds,
      max(lastPing, lastHeard) + pingMilliseconds)
    if let answerDeadline { next = min(next, answerDeadline) }
    if let offerDeadline { next = min(next, offerDeadline) }
    if let heldUntil, heldUntil != .max { next = min(next, heldUntil) }
    if let acknowledgeAt { next = min(next, acknowledgeAt) }
    return next
  }
}
