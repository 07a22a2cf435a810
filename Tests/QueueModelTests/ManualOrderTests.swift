import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Cases that fail if places are numbers between their neighbours, and that work here.
struct ManualOrderTests {
  /// A device whose threads were sent in, in this order.
  private func device(_ count: Int, number: UInt64 = 1) throws -> TestDevice {
    var device = TestDevice(number)
    for index in 1...count {
      try device.perform(.send("text", as: UInt64(index), in: "thread \(index)"))
    }
    return device
  }

  private func expectCleanOrder(_ workspace: Workspace, count: Int) {
    let threads = workspace.threadQueue().threads
    #expect(threads.map(\.position) == Array(1...count))
    #expect(Set(threads.map(\.session)).count == count)
    #expect(throws: Never.self) { try workspace.checkInvariants() }
  }

  /// Halving the gap between two numbers leaves no number after some fifty times.
  @Test func movesBetweenTwoNeighboursNeverRunOutOfPlaces() throws {
    var device = try device(4)
    for round in 0..<400 {
      // The last two alternate between the first and the one after it.
      let name = round.isMultiple(of: 2) ? "thread 3" : "thread 4"
      try device.perform(.moveThread(.named(name), to: 2))
      let other = round.isMultiple(of: 2) ? "thread 4" : "thread 3"
      #expect(
        device.workspace.threadNames.prefix(3)
          == (round == 0
            ? ["thread 1", "thread 3", "thread 2"] : ["thread 1", name, other]))
    }
    expectCleanOrder(device.workspace, count: 4)
  }

  // S2-9, S2-85: more sessions than fit a page, from two offline devices.
  @Test func manySessionsGetPositionsOfTheirOwn() throws {
    var (left, right) = (TestDevice(1), TestDevice(2))
    for number in UInt64(1)...150 {
      try left.perform(.send("text", as: number, in: "left \(number)"))
      try right.perform(.send("text", as: 1_000 + number, in: "right \(number)"))
    }
    let (fromLeft, fromRight) = (left.made, right.made)
    try left.merge(fromRight)
    try right.merge(fromLeft)
    expectCleanOrder(left.workspace, count: 300)
    #expect(left.workspace.threadNames == right.workspace.threadNames)
    try left.perform(.removeThreads([.named("left 100")]))
    expectCleanOrder(left.workspace, count: 299)
  }

  @Test func removalsFromTheMiddleLeaveNoGap() throws {
    var device = try device(9)
    for (removed, name) in ["thread 5", "thread 4", "thread 6", "thread 8"].enumerated() {
      try device.perform(.removeThreads([.named(name)]))
      expectCleanOrder(device.workspace, count: 8 - removed)
    }
    #expect(
      device.workspace.threadNames == ["thread 1", "thread 2", "thread 3", "thread 7", "thread 9"])
  }

  /// Several devices drag, remove, requeue and send at the same time, round after round.
  @Test(arguments: TestSeeds.list(standard: 10, from: 2_100))
  func concurrentReorderingsAgreeWithoutDoubles(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var devices = [try device(8)]
    for number in UInt64(2)...4 {
      var other = TestDevice(number)
      try other.merge(devices[0].made)
      devices.append(other)
    }
    var message: UInt64 = 100
    // The others know only the first device's sends.
    var known = [devices[0].made.count, 0, 0, 0]
    for _ in 0..<6 {
      for index in devices.indices {
        for _ in 0..<4 {
          message += 1
          try change(&devices[index], &generator, message: message)
        }
      }
      let news = zip(devices, known).map { Array($0.made.dropFirst($1)) }
      for index in devices.indices {
        for other in news.indices.shuffled(using: &generator) where other != index {
          try devices[index].merge(news[other])
        }
      }
      known = devices.map(\.made.count)
      let names = devices[0].workspace.threadNames
      for device in devices {
        #expect(device.workspace.threadNames == names, "seed \(seed)")
        expectCleanOrder(device.workspace, count: names.count)
      }
    }
  }

  private func change(
    _ device: inout TestDevice, _ generator: inout SeededGenerator, message: UInt64
  ) throws {
    let names = device.workspace.threadNames
    switch generator.below(8) {
    case 0 where names.count > 2:
      try device.perform(.removeThreads([.named(generator.pick(names) ?? "")]))
    case 1, 2:
      try device.perform(.send("text", as: message, in: "thread \(1 + generator.below(8))"))
    default:
      guard let name = generator.pick(names) else { return }
      try device.perform(.moveThread(.named(name), to: 1 + generator.below(names.count)))
    }
  }
}
