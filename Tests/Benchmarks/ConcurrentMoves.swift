import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// Ten devices move 2,000 times each in a queue of 1,000, without knowing of each other, and one
/// merges all of it.
///
/// The operations are those of `Command.move`, found without examining the whole queue.
struct ConcurrentMoves {
  private static let count = 1_000
  private static let movesEach = 2_000
  private static let name = "queue/concurrent-moves-10x2000"

  /// The device that sent the queue.
  let origin: BenchDevice
  private let session: OperationID
  /// The operations that introduced the messages, which are also their first places.
  private let messages: [OperationID]

  /// - Parameter count: the number of messages in the queue.
  init(_ key: SessionID, count: Int) throws {
    var device = BenchDevice(queueSizeMax: count)
    try QueueSuite.send(key, count: count, by: &device)
    origin = device
    var session: OperationID?
    var messages: [OperationID] = []
    for operation in device.log {
      if case .openSession = operation.body { session = operation.id }
      if case .addMessage = operation.body { messages.append(operation.id) }
    }
    guard let session else { throw BenchFailure("\(ConcurrentMoves.name): no session was opened") }
    (self.session, self.messages) = (session, messages)
  }

  static func measure(runs: Int) throws -> [Result] {
    let key = try SessionID("queue")
    let moves = try ConcurrentMoves(key, count: count)
    let deltas = try (1...10).map { author in
      var generator = SeededGenerator(seed: UInt64(author))
      let choices = (0..<movesEach).map { _ in
        (message: generator.below(count), index: generator.below(count))
      }
      return PackedDelta.pack(
        try moves.operations(choices, by: ReplicaID(rawValue: generator.next())))
    }
    let seconds = try Stopwatch.seconds(
      runs: runs,
      given: { () throws -> BenchDevice in
        var device = BenchDevice()
        try device.merge(moves.origin.log)
        return device
      },
      { merged in
        var device = merged
        for delta in deltas { try device.merge(PackedDelta.unpack(delta)) }
        return device
      },
      check: { try QueueSuite.check($0.workspace, key, holds: count) })
    return [
      .median("\(name)/merge", seconds),
      Result(
        name: "\(name)/deltas-raw", metric: "bytes",
        value: Double(deltas.reduce(0) { $0 + $1.count })),
    ]
  }

  /// Moves messages, one a second, each to an index among those that stay.
  func operations(
    _ choices: [(message: Int, index: Int)], by replica: ReplicaID
  ) throws -> [Operation] {
    var slots = RunSequence()
    for message in messages {
      let origins = slots.originsAtEnd
      try slots.integrate(id: message, length: 1, left: origins.left, right: origins.right)
    }
    var places = messages
    let start = origin.workspace.latestStamp.milliseconds
    var operations: [Operation] = []
    for choice in choices {
      let seq = UInt32(operations.count + 1)
      let id = OperationID(replica: replica, seq: seq)
      let time = start + 1_000 * Int64(seq)
      try slots.hide(first: places[choice.message], count: 1)
      let left =
        choice.index > 0
        ? slots.content(atVisible: choice.index - 1).map(slots.id(ofContent:)) : nil
      let origins = slots.origins(behind: left) ?? slots.originsAtEnd
      try slots.integrate(
        id: id, length: 1, left: origins.left, right: origins.right, time: time)
      places[choice.message] = id
      operations.append(
        Operation(
          id: id,
          body: .placeMessage(
            message: messages[choice.message], session: session,
            origins: .init(left: origins.left, right: origins.right, time: time),
            stamp: Stamp(milliseconds: time))))
    }
    return operations
  }
}
