import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// The message that was sent first comes first. Slots that offline devices make at one place are
/// ordered by their authors' clocks, not by random numbers.
@Suite struct FirstSentTests {
  private static let base: [Command] = [
    .send("one", as: 1, in: "s"), .send("two", as: 2, in: "s"), .send("three", as: 3, in: "s"),
  ]

  private func founder() throws -> TestDevice {
    var founder = TestDevice(50)
    for command in FirstSentTests.base { try founder.perform(command) }
    return founder
  }

  /// A device that knows the queue, and whose clock shows this number of milliseconds from now.
  private func device(
    _ number: UInt64, from founder: TestDevice, at milliseconds: Int64
  ) throws -> TestDevice {
    var device = TestDevice(number, now: founder.now + milliseconds)
    try device.merge(founder.made)
    return device
  }

  /// Expects a queue, and the oracle's result, on a device that gets the parts in any order and
  /// restores itself from a snapshot after each.
  private func expect(
    _ numbers: [UInt64], after parts: [[Operation]], from founder: TestDevice,
    _ comment: Comment? = nil
  ) throws {
    for order in Permutations.all(of: parts) {
      var reader = TestDevice(99)
      try reader.merge(founder.made)
      for part in order {
        try reader.merge(part)
        try reader.restoreFromSnapshot()
      }
      #expect(reader.workspace.numbers("s") == numbers, comment)
      let slow = SlowWorkspace(founder.made + parts.flatMap { $0 } + reader.made)
      #expect(slow.state().imageDifferences(from: reader.workspace) == [], comment)
    }
  }

  /// The eight pairs: either device has the lower number, and either sends first.
  @Test(
    arguments: [(10, 60), (60, 10), (49, 51), (51, 49)] as [(UInt64, UInt64)], [1, 60_000])
  func theEarlierOfTwoOfflineSendsIsFirst(numbers: (UInt64, UInt64), later: Int64) throws {
    let founder = try founder()
    var (first, second) = (
      try device(numbers.0, from: founder, at: 1_000),
      try device(numbers.1, from: founder, at: 1_000 + later)
    )
    try first.perform(.send("first", as: 10, in: "s"))
    try second.perform(.send("second", as: 20, in: "s"))
    try expect([1, 2, 3, 10, 20], after: [first.made, second.made], from: founder)
  }

  @Test func theEarlierOfTwoSendsToTheFrontIsFirst() throws {
    for numbers in [(10, 60), (60, 10)] as [(UInt64, UInt64)] {
      let founder = try founder()
      var (first, second) = (
        try device(numbers.0, from: founder, at: 1_000),
        try device(numbers.1, from: founder, at: 2_000)
      )
      try first.perform(.move([.numbered(2)], to: .before(.numbered(1))))
      try second.perform(.move([.numbered(3)], to: .before(.numbered(1))))
      try expect([2, 3, 1], after: [first.made, second.made], from: founder)
    }
  }

  @Test func threadsThatAreQueuedApartGoByTheirTimes() throws {
    for numbers in [(10, 60), (60, 10)] as [(UInt64, UInt64)] {
      let founder = try founder()
      var (first, second) = (
        try device(numbers.0, from: founder, at: 1_000),
        try device(numbers.1, from: founder, at: 2_000)
      )
      try first.perform(.send("text", as: 10, in: "a"))
      try second.perform(.send("text", as: 20, in: "b"))
      for parts in [[first.made, second.made], [second.made, first.made]] {
        var reader = founder
        for part in parts { try reader.merge(part) }
        try reader.restoreFromSnapshot()
        #expect(reader.workspace.threadNames == ["s", "a", "b"])
      }
    }
  }

  /// The messages of one device stay together, even if another device sends in between.
  @Test(arguments: [10, 60] as [UInt64])
  func messagesOfOneDeviceStayTogether(number: UInt64) throws {
    let founder = try founder()
    var (first, second) = (
      try device(number, from: founder, at: 1_000), try device(40, from: founder, at: 2_000)
    )
    try first.perform(.send("first", as: 10, in: "s"))
    first.now += 5_000
    try first.perform(.send("third", as: 11, in: "s"))
    try second.perform(.send("second", as: 20, in: "s"))
    try expect([1, 2, 3, 10, 11, 20], after: [first.made, second.made], from: founder)
  }

  /// The clock counts even if the stamp had to be later: a device that received a stamp from the
  /// future sends in the order of its clock.
  @Test(arguments: [10, 60] as [UInt64])
  func aStampThatIsAheadOfTheClockOrdersNothing(number: UInt64) throws {
    var founder = try founder()
    let now = founder.now
    founder.now += 3_600_000
    try founder.perform(.setPriority(.numbered(1), .normal))
    try founder.perform(.renameSession(.named("s"), name: "name"))
    founder.now = now
    var (first, second) = (
      try device(number, from: founder, at: 1_000), TestDevice(40, now: now + 2_000)
    )
    try second.merge(Array(founder.made.dropLast()))
    try first.perform(.send("first", as: 10, in: "s"))
    try second.perform(.send("second", as: 20, in: "s"))
    try expect([1, 2, 3, 10, 20], after: [first.made, second.made], from: founder)
    let addition = try #require(first.made.first { $0.origins != nil })
    #expect(addition.origins?.time == now + 1_001)
    #expect(try #require(addition.stamp).milliseconds > now + 3_000_000)
  }

  /// A clock that is wrong by a year affects only the order beside its own slots.
  @Test func aWrongClockMovesItsOwnSlotsOnly() throws {
    let founder = try founder()
    var (wrong, right, late) = (
      try device(10, from: founder, at: 365 * 86_400_000),
      try device(20, from: founder, at: 2_000), try device(5, from: founder, at: 3_000)
    )
    try wrong.perform(.send("wrong", as: 10, in: "s"))
    try wrong.perform(.send("wrong", as: 11, in: "s"))
    try right.perform(.send("right", as: 20, in: "s"))
    try late.perform(.send("late", as: 30, in: "s"))
    try late.perform(.move([.numbered(1)], to: .after(.numbered(30))))
    try expect(
      [2, 3, 20, 30, 1, 10, 11], after: [wrong.made, right.made, late.made], from: founder)
  }

  /// The server lowers stamps, and times stay as they are.
  @Test func loweringAStampLeavesTheTime() throws {
    let founder = try founder()
    var ahead = try device(10, from: founder, at: 600_000)
    try ahead.perform(.send("text", as: 10, in: "s"))
    let lowered = try #require(ahead.made.lowered(to: founder.now, behind: .zero))
    #expect(lowered.compactMap(\.origins?.time) == ahead.made.compactMap(\.origins?.time))
    #expect(lowered.compactMap(\.stamp) != ahead.made.compactMap(\.stamp))
    #expect(zip(lowered, ahead.made).allSatisfy { $0.isSame(as: $1) })
  }

  @Test(arguments: [-1, 1 << 48, .min, .max] as [Int64])
  func aTimeThatNoClockShowsIsRefused(time: Int64) throws {
    var device = try founder()
    let origins = Operation.Origins(left: nil, right: nil, time: time)
    let id = OperationID(replica: ReplicaID(rawValue: 7), seq: 1)
    let session = try #require(device.made.first { $0.origins != nil }?.dependencies.first)
    #expect(throws: MergeError.self) {
      try device.merge([
        Operation(
          id: id,
          body: .placeThread(
            session: session, origins: origins, stamp: device.workspace.latestStamp))
      ])
    }
    let message = try #require(device.made.first { $0.origins != nil }?.id)
    #expect(throws: MergeError.self) {
      try device.merge([
        Operation(
          id: id,
          body: .insertText(
            Operation.InsertText(
              message: message, origins: .init(left: nil, right: nil, time: 1), text: "x")))
      ])
    }
  }
}
