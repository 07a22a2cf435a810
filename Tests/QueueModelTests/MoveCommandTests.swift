import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Moving messages: by position, next to others, several, across sessions. S0-11, S1-20.
struct MoveCommandTests {
  private func device(_ count: UInt64 = 5) throws -> TestDevice {
    var device = TestDevice(1, queueSizeMax: 1_000)
    for number in 1...count {
      try device.perform(.send("text", as: number, in: "s", requeues: false))
    }
    return device
  }

  private func ids(_ numbers: [UInt64]) -> [MessageID] { numbers.map(MessageID.numbered) }

  // S0-70.
  @Test(arguments: 1...5, 1...5)
  func anyMessageGoesToAnyPosition(number: Int, position: Int) throws {
    var device = try device()
    let outcome = try device.perform(
      .move([.numbered(UInt64(number))], to: .position(position)))
    var expected = [1, 2, 3, 4, 5].filter { $0 != number }
    expected.insert(number, at: position - 1)
    #expect(device.workspace.numbers("s").map(Int.init) == expected)
    #expect(outcome.notice == (number == position ? .unchanged : .moved(position: position)))
    #expect(outcome.operations.isEmpty == (number == position))
  }

  @Test(arguments: 1...4, 1...4)
  func anyMessageGoesBeforeOrBehindAnyOther(number: Int, neighbour: Int) throws {
    guard number != neighbour else { return }
    for isBefore in [true, false] {
      var device = try device(4)
      let other = MessageID.numbered(UInt64(neighbour))
      try device.perform(
        .move([.numbered(UInt64(number))], to: isBefore ? .before(other) : .after(other)))
      var expected = [1, 2, 3, 4].filter { $0 != number }
      let index = try #require(expected.firstIndex(of: neighbour))
      expected.insert(number, at: isBefore ? index : index + 1)
      #expect(device.workspace.numbers("s").map(Int.init) == expected)
    }
  }

  @Test func severalMoveTogetherInTheOrderGiven() throws {
    var device = try device()
    try device.perform(.move(ids([5, 1, 3]), to: .position(2)))
    #expect(device.workspace.numbers("s") == [2, 5, 1, 3, 4])
    try device.perform(.move(ids([2, 4]), to: .after(.numbered(5))))
    #expect(device.workspace.numbers("s") == [5, 2, 4, 1, 3])
    try device.perform(.move(ids([3, 5]), to: .before(.numbered(2))))
    #expect(device.workspace.numbers("s") == [3, 5, 2, 4, 1])
    // All of them move; the position is that of the first one.
    try device.perform(.move(ids([1, 2, 3, 4, 5]), to: .position(1)))
    #expect(device.workspace.numbers("s") == [1, 2, 3, 4, 5])
  }

  @Test func aLongRandomSeriesOfMovesGivesWhatAnArrayGives() throws {
    var generator = TestSeeds.generator(standard: 21)
    var device = try device(8)
    var model: [UInt64] = [1, 2, 3, 4, 5, 6, 7, 8]
    for _ in 0..<200 {
      let moved = Array(model.shuffled(using: &generator).prefix(1 + generator.below(3)))
      let rest = model.filter { !moved.contains($0) }
      let position = 1 + generator.below(rest.count + 1)
      try device.perform(.move(ids(moved), to: .position(position)))
      model = rest
      model.insert(contentsOf: moved, at: position - 1)
      #expect(device.workspace.numbers("s") == model, "seed \(generator.seed)")
    }
  }

  @Test func messagesMoveIntoTheQueueOfTheirNewNeighbour() throws {
    var device = try device(3)
    try device.perform(.send("in t", as: 10, in: "t"))
    try device.perform(.send("in t", as: 11, in: "t"))
    try device.perform(.move(ids([3, 1]), to: .before(.numbered(11))))
    #expect(device.workspace.numbers("s") == [2])
    #expect(device.workspace.numbers("t") == [10, 3, 1, 11])
    #expect(try device.workspace.message(.numbered(3)).session == .named("t"))
    // They move from two queues to one place.
    try device.perform(.move(ids([10, 2]), to: .after(.numbered(1))))
    #expect(device.workspace.numbers("s") == [])
    #expect(device.workspace.numbers("t") == [3, 1, 10, 2, 11])
  }

  @Test func positionsOfMessagesOfSeveralQueuesAreRefused() throws {
    var device = try device(1)
    try device.perform(.send("in t", as: 10, in: "t"))
    let error = #expect(throws: QueueError.self) {
      try device.perform(.move(ids([1, 10]), to: .position(1)))
    }
    #expect(error?.code == "invalidMove")
  }

  @Test func impossibleMovesAreRefusedAndChangeNothing() throws {
    var device = try device(3)
    try device.perform(.cancel([.numbered(3)]))
    let before = device.workspace.image()
    let refused: [([UInt64], MoveTarget, String)] = [
      ([], .position(1), "invalidMove"),
      ([1, 1], .position(1), "invalidMove"),
      ([1], .before(.numbered(1)), "invalidMove"),
      ([1, 2], .after(.numbered(2)), "invalidMove"),
      ([1], .position(0), "invalidPosition"),
      ([1], .position(3), "invalidPosition"),
      ([1], .position(.min), "invalidPosition"),
      ([1], .position(.max), "invalidPosition"),
      ([9], .position(1), "messageNotFound"),
      ([1], .before(.numbered(9)), "messageNotFound"),
      ([3], .position(1), "messageCancelled"),
      ([1], .after(.numbered(3)), "messageCancelled"),
    ]
    for (numbers, target, code) in refused {
      let error = #expect(throws: QueueError.self) {
        try device.perform(.move(ids(numbers), to: target))
      }
      #expect(error?.code == code, "\(numbers) to \(target)")
    }
    #expect(device.workspace.image() == before)
  }

  @Test func aMoveNeverLeavesTheBlockOfItsPriority() throws {
    var device = try device(3)
    try device.perform(.send("urgent", as: 8, in: "s", .urgent))
    try device.perform(.send("urgent", as: 9, in: "s", .urgent))
    let outcome = try device.perform(.move([.numbered(3)], to: .position(1)))
    #expect(device.workspace.numbers("s") == [8, 9, 3, 1, 2])
    #expect(outcome.notice == .moved(position: 3))
    try device.perform(.move([.numbered(8)], to: .position(5)))
    #expect(device.workspace.numbers("s") == [9, 8, 3, 1, 2])
    // It is already as near as the block allows.
    #expect(try device.perform(.move([.numbered(8)], to: .position(4))).notice == .unchanged)
    // Messages of both priorities go each to its own block.
    try device.perform(.move(ids([2, 8]), to: .position(1)))
    #expect(device.workspace.numbers("s") == [8, 9, 2, 3, 1])
  }

  @Test func aMoveKeepsTheMessageOtherwiseAsItIs() throws {
    var device = try device(3)
    let before = try device.workspace.message(.numbered(1))
    try device.perform(.move([.numbered(1)], to: .position(3)))
    var after = try device.workspace.message(.numbered(1))
    after.position = before.position
    #expect(after == before)
  }

  @Test func aCancelledMessageComesBackToThePlaceItWasMovedTo() throws {
    var device = try device(3)
    try device.perform(.move([.numbered(1)], to: .position(3)))
    try device.perform(.cancel([.numbered(1)]))
    try device.perform(.send("new", as: 4, in: "s"))
    try device.perform(.restore(.numbered(1)))
    #expect(device.workspace.numbers("s") == [2, 3, 1, 4])
  }

  /// A few waiting messages among many finished ones are looked up one by one, many are visited in
  /// order. The places are the same.
  @Test func waitingMessagesKeepTheirOrderWhateverElseIsDone() throws {
    var device = TestDevice(1, queueSizeMax: 1_000)
    for number in UInt64(1)...200 { try device.perform(.send("text", as: number, in: "s")) }
    var expected = (UInt64(1)...200).map { $0 }
    // Abandoned slots lie between the others.
    for step in 0..<60 {
      let number = expected.remove(at: (step * 37) % 200)
      let place = (step * 53) % 200
      expected.insert(number, at: place)
      try device.perform(.move([.numbered(number)], to: .position(place + 1)))
    }
    while !expected.isEmpty {
      #expect(device.workspace.numbers("s") == expected)
      let done = stride(from: 0, to: expected.count, by: 3).map { expected[$0] }
      expected.removeAll(where: done.contains)
      try device.perform(.cancel(done.map { .numbered($0) }))
      try device.workspace.checkInvariants()
    }
    #expect(device.workspace.numbers("s").isEmpty)
    try device.perform(.restore(.numbered(70)))
    try device.perform(.restore(.numbered(7)))
    #expect(device.workspace.numbers("s").count == 2)
    #expect(device.workspace.session(.named("s"))?.waiting == 2)
  }
}
