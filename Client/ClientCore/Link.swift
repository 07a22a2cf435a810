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
    var milliseconds: Int64 {
      ClientLimits.answerMilliseconds + Int64(bytes / ClientLimits.batchBytesPerSecondMin) * 1_000
    }
  }

  /// A snapshot that is coming in.
  struct Assembly: Sendable {
    var count: UInt32
    var nextIndex: UInt32
    var bytes: [UInt8]
  }

  /// Operations of the server that nothing has been done with yet.
  struct Gathering {
    var deliveries: [Replica.Delivery] = []
    /// What the server was told to be known, and what came since.
    var reach: VersionVector
    /// How much came, packed.
    private(set) var bytes = 0

    init(reach: VersionVector) {
      self.reach = reach
    }

    /// - Returns: whether everything is there now that the server has of `target`.
    mutating func take(_ delivery: Replica.Delivery, upTo target: VersionVector) -> Bool {
      deliveries.append(delivery)
      bytes += delivery.packed?.count ?? 0
      for range in delivery.operations.ranges where range.first <= reach[range.replica] &+ 1 {
        reach[range.replica] = max(reach[range.replica], range.last)
      }
      return reach.includes(target)
    }
  }

  let connection: ConnectionID
  let since: Int64
  let sinceWall: Int64
  let deltaBytesMax: Int
  let pingMilliseconds: Int64
  /// What the server knew at the start; once all of it is here, the device has caught up.
  let target: VersionVector
  var hasCaughtUp = false
  var head: UInt64
  /// Replicas to be compared, and what the server has of them.
  var disputed: [ReplicaID: UInt32] = [:]
  /// All replicas that were to be compared when the session began.
  var compared: Set<ReplicaID> = []
  /// What came while replicas are to be compared; nil where none are. One may name what another
  /// lost, so that all are compared at once.
  var gathered: Gathering?
  /// What the server said of replicas whose digests could not be compared at `welcome`.
  var unverified: [KnownReplica] = []
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
  var missingRounds = 0
  var reportedMissing: [OperationRange] = []
  var assembly: Assembly?
  /// The server is in another epoch; its base is on its way.
  var awaitsBase = false
  /// Something came that does not fit while own operations are unanswered: a copy of this device
  /// may have written under its replica id. The server's answers will tell; until then nothing more
  /// can be taken in.
  var suspectsFork = false
  /// This device's state is on its way to a server that lost data.
  var isOffering = false
  /// When what came is made durable and acknowledged at the latest; nil where it was.
  var acknowledgeAt: Int64?

  /// Whether the server owes an answer to a batch.
  var awaitsAnswers: Bool { !flights.isEmpty || voidedAnswers > 0 }

  /// Whether nothing but the window stands in the way of outgoing operations.
  var maySend: Bool { heldUntil == nil && !awaitsBase && !isOffering && disputed.isEmpty }

  var bytesUnderWay: Int { flights.reduce(0) { $0 + $1.bytes } }

  /// Whether another batch may be sent before one is answered.
  var hasRoom: Bool {
    flights.count < ClientLimits.windowBatchesMax && bytesUnderWay < windowBytes
  }

  /// A batch was answered: the window grows where the line was quick with all of it, and shrinks
  /// where it was slow, so that a request does not wait for long behind data.
  mutating func noteAnswer(to flight: Flight, at now: Int64) {
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
    hasCaughtUp && maySend && voidedAnswers == 0 && cursor >= entry
  }

  /// Keeps operations of the server until all are there that are to be compared.
  ///
  /// - Returns: what is to be merged now; nil where more has to come.
  mutating func gathering(_ delivery: Replica.Delivery) -> [Replica.Delivery]? {
    guard var gathered else { return [delivery] }
    let isComplete = gathered.take(delivery, upTo: target)
    self.gathered = isComplete ? nil : gathered
    return isComplete ? gathered.deliveries : nil
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
    if let heldUntil, heldUntil != .max { next = min(next, heldUntil) }
    if let acknowledgeAt { next = min(next, acknowledgeAt) }
    return next
  }
}
