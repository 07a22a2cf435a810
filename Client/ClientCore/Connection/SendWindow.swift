import QueueModel
import SequenceCRDT

/// The open batches of a connection, and how many more may be sent.
struct SendWindow: Sendable {
  /// A batch that the server has not answered.
  struct Flight: Sendable {
    var batch: UInt64
    /// The operations that its acknowledgement covers; empty if further parts of the same
    /// operations follow.
    var ranges: [OperationRange]
    var sentAt: Int64
    /// Bytes of the delta.
    var bytes: Int
    /// Bytes of all deltas that were open with it.
    var load: Int

    /// How long it may take once the earlier batches are answered.
    var milliseconds: Int64 { ClientLimits.answerMilliseconds(bytes: bytes) }
  }

  private(set) var lastBatch: UInt64 = 0
  private(set) var flights: [Flight] = []
  /// The number of open bytes below which another batch may be sent.
  private(set) var bytesMax = ClientLimits.windowBytesFirst
  /// When the server last answered a batch; a slow line delivers the answers one by one.
  private(set) var answeredAt = Int64.min
  /// Answers still to come for batches that will be sent again.
  private(set) var voidedAnswers = 0
  /// The log was searched for outgoing operations up to this entry.
  var cursor: Int64 = 0

  /// Bytes of the open batches.
  var bytes: Int { flights.reduce(0) { $0 + $1.bytes } }

  /// Whether another batch may be sent before one is answered.
  var hasRoom: Bool {
    flights.count < ClientLimits.windowBatchesMax && bytes < bytesMax
  }

  /// Whether every batch was answered.
  var isEmpty: Bool { flights.isEmpty && voidedAnswers == 0 }

  func contains(_ batch: UInt64) -> Bool { flights.contains { $0.batch == batch } }

  /// When the answer to the oldest batch is overdue; nil if none is awaited.
  var answerDeadline: Int64? {
    flights.first.map { max($0.sentAt, answeredAt) + $0.milliseconds }
  }

  /// A batch is sent.
  ///
  /// - Returns: its number.
  mutating func send(_ ranges: [OperationRange], bytes count: Int, at now: Int64) -> UInt64 {
    lastBatch += 1
    flights.append(
      Flight(batch: lastBatch, ranges: ranges, sentAt: now, bytes: count, load: bytes + count))
    return lastBatch
  }

  /// Removes and returns an answered batch; nil if the batch is sent again, so that a later answer
  /// counts.
  mutating func takeFlight(_ batch: UInt64, at now: Int64) -> Flight? {
    guard let index = flights.firstIndex(where: { $0.batch == batch }) else {
      voidedAnswers = max(0, voidedAnswers - 1)
      return nil
    }
    let flight = flights.remove(at: index)
    noteAnswer(to: flight, at: now)
    return flight
  }

  /// A batch that is sent again was refused.
  mutating func dropAnswer() {
    voidedAnswers = max(0, voidedAnswers - 1)
  }

  /// A batch was answered. If the line was quick with all of it, the window grows; if it was slow,
  /// the window shrinks. So a request does not wait long behind data.
  private mutating func noteAnswer(to flight: Flight, at now: Int64) {
    answeredAt = now
    let milliseconds = now - flight.sentAt
    let range = ClientLimits.windowBytesRange
    if milliseconds > ClientLimits.windowMilliseconds {
      bytesMax = max(bytesMax / 2, range.lowerBound)
    } else if milliseconds < ClientLimits.windowMilliseconds / 4, flight.load >= bytesMax {
      bytesMax = min(bytesMax * 2, range.upperBound)
    }
  }

  /// Sends everything unacknowledged again, once the open answers have arrived.
  mutating func voidFlights(alreadyAnswered: Int) {
    voidedAnswers += max(0, flights.count - alreadyAnswered)
    flights = []
    cursor = 0
  }

  /// Checks the window against its limits.
  func checkInvariants() throws(InvariantViolation) {
    func require(_ holds: Bool, _ reason: String) throws(InvariantViolation) {
      if !holds { throw InvariantViolation(reason: "the send window \(reason)") }
    }
    try require(voidedAnswers >= 0, "waits for \(voidedAnswers) answers")
    try require(ClientLimits.windowBytesRange.contains(bytesMax), "takes \(bytesMax) bytes")
    try require(
      zip(flights, flights.dropFirst()).allSatisfy { $0.batch < $1.batch },
      "has batches out of order")
    try require(flights.last.map { $0.batch <= lastBatch } ?? true, "has a batch of no number")
  }
}
