import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The thread queue on one device.
struct ThreadCommandTests {
  /// A device whose threads were sent in, in this order.
  private func device(_ names: String...) throws -> TestDevice { try device(names) }

  private func device(_ names: [String]) throws -> TestDevice {
    var device = TestDevice(1)
    for (index, name) in names.enumerated() {
      try device.perform(.send("text", as: UInt64(index + 1), in: name))
    }
    return device
  }

  private func positions(_ device: TestDevice) -> [String: Int] {
    Dictionary(
      uniqueKeysWithValues: device.workspace.threadQueue().threads.map {
        ($0.session.rawValue, $0.position)
      })
  }

  // S2-29, S2-59, S2-60: the first gets 1, each further one 1 more.
  @Test func sendingPutsThreadsAtTheEnd() throws {
    let device = try device("a", "b", "c")
    #expect(positions(device) == ["a": 1, "b": 2, "c": 3])
  }

  // S2-30, S2-31, S2-61, S2-74.
  @Test func removingFromTheMiddleClosesTheGap() throws {
    var device = try device("a", "b", "c", "d")
    #expect(
      try device.perform(.removeThreads([.named("b")])).notice == .affected(count: 1))
    #expect(positions(device) == ["a": 1, "c": 2, "d": 3])
  }

  // S2-5, S2-32, S2-62, S2-70.
  @Test func sendingAgainMovesAThreadToTheEnd() throws {
    var device = try device("a", "b", "c", "d")
    device.now += 1_000
    try device.perform(.send("again", as: 9, in: "b"))
    #expect(positions(device) == ["a": 1, "c": 2, "d": 3, "b": 4])
    let times = device.workspace.threadQueue().threads.map(\.queuedAt)
    #expect(times[3] == device.now && times[0] < device.now)
  }

  @Test func typingAtTheAgentsPromptRequeuesAndLocksAsASendDoes() throws {
    var device = try device("a", "b")
    try device.perform(.unlockThread(.named("a")))
    #expect(device.workspace.threadQueue().ready.map(\.session.rawValue) == ["a"])
    #expect(try device.perform(.requeueThread(.named("a"))).notice == .done)
    #expect(positions(device) == ["b": 1, "a": 2])
    #expect(device.workspace.threadQueue().ready == [])
    #expect(throws: QueueError.sessionNotFound(id: "c")) {
      try device.perform(.requeueThread(.named("c")))
    }
  }

  // S2-33: order kept, queuedAt renewed.
  @Test func requeueingTheLastThreadRenewsItsTimeOnly() throws {
    var device = try device("a", "b")
    let before = device.workspace.threadQueue().threads[1].queuedAt
    device.now += 1_000
    try device.perform(.send("again", as: 9, in: "b"))
    #expect(positions(device) == ["a": 1, "b": 2])
    #expect(device.workspace.threadQueue().threads[1].queuedAt == before + 1_001)
  }

  // S2-22, S2-24 to S2-27, S2-63 to S2-65.
  @Test func aThreadIsHiddenFromItsSendUntilItsUnlock() throws {
    var device = try device("a", "b")
    #expect(device.workspace.threadQueue().ready == [])
    #expect(try device.perform(.unlockThread(.named("b"))).notice == .done)
    #expect(device.workspace.threadQueue().ready.map(\.session.rawValue) == ["b"])
    // S2-34: hidden threads count.
    #expect(device.workspace.threadQueue().ready.map(\.position) == [2])
    #expect(try device.perform(.unlockThread(.named("b"))).notice == .unchanged)
    try device.perform(.send("again", as: 9, in: "b"))
    #expect(device.workspace.threadQueue().ready == [])
  }

  // S2-45, S2-57: if the queue is off, a send leaves it alone; nothing is forgotten.
  @Test func aSendWithTheQueueSwitchedOffLeavesItAlone() throws {
    var device = try device("a", "b")
    let before = device.workspace.threadQueue()
    let outcome = try device.perform(.send("off", as: 9, in: "a", requeues: false))
    #expect(device.workspace.threadQueue() == before)
    #expect(!outcome.touched.threads)
  }

  // S2-88: less than a millisecond of this thread's time.
  @Test func removingOneOfTwentyTakesNoMillisecond() throws {
    let full = try device((1...20).map { "thread \($0)" })
    let best = try ThreadTime.best(of: 30) {
      var device = full
      try device.perform(.removeThreads([.named("thread 1")]))
      #expect(device.workspace.threadNames.count == 19)
    }
    print("removing one of 20 threads takes \(best * 1_000) ms")
    #expect(best < 0.001)
  }

  // S2-49: removing a thread that is not queued is a no-op.
  @Test func removingWhatIsNotQueuedChangesNothing() throws {
    var device = try device("a")
    try device.perform(.addSession(.named("b"), name: nil, project: nil))
    let outcome = try device.perform(.removeThreads([.named("b")]))
    #expect(outcome.notice == .unchanged)
    #expect(outcome.operations == [])
    #expect(throws: QueueError.sessionNotFound(id: "x")) {
      try device.perform(.removeThreads([.named("a"), .named("x")]))
    }
    #expect(device.workspace.threadNames == ["a"])
  }

  // S2-96.
  @Test func severalThreadsAreRemovedAtOnce() throws {
    var device = try device("a", "b", "c")
    #expect(
      try device.perform(.removeThreads([.named("c"), .named("a"), .named("c")])).notice
        == .affected(count: 2))
    #expect(device.workspace.threadNames == ["b"])
  }

  // S2-101.
  @Test func clearingEmptiesTheQueueAndKeepsTheSessions() throws {
    var device = try device("a", "b")
    #expect(try device.perform(.clearThreads).notice == .affected(count: 2))
    #expect(device.workspace.threadNames == [])
    #expect(device.workspace.sessions().map(\.threadPosition) == [nil, nil])
    #expect(device.workspace.numbers("a") == [1])
    #expect(try device.perform(.clearThreads).notice == .unchanged)
  }

  // S2-90.
  @Test(arguments: 1...4, 1...4)
  func anyThreadMovesToAnyPosition(from: Int, to position: Int) throws {
    var device = try device("a", "b", "c", "d")
    let names = ["a", "b", "c", "d"]
    let outcome = try device.perform(.moveThread(.named(names[from - 1]), to: position))
    var expected = names
    expected.insert(expected.remove(at: from - 1), at: position - 1)
    #expect(device.workspace.threadNames == expected)
    #expect(outcome.notice == (from == position ? .unchanged : .moved(position: position)))
  }

  @Test func impossibleThreadMovesAreRefused() throws {
    var device = try device("a", "b")
    try device.perform(.addSession(.named("c"), name: nil, project: nil))
    for position in [0, 3, .min, .max] {
      #expect(throws: QueueError.invalidPosition(position: position, count: 2)) {
        try device.perform(.moveThread(.named("a"), to: position))
      }
    }
    #expect(throws: QueueError.threadNotQueued(session: "c")) {
      try device.perform(.moveThread(.named("c"), to: 1))
    }
    #expect(throws: QueueError.sessionNotFound(id: "x")) {
      try device.perform(.moveThread(.named("x"), to: 1))
    }
    #expect(throws: QueueError.sessionNotFound(id: "x")) {
      try device.perform(.unlockThread(.named("x")))
    }
  }

  @Test func aDragDoesNotRenewTheTime() throws {
    var device = try device("a", "b")
    let before = device.workspace.threadQueue().threads[1].queuedAt
    try device.perform(.moveThread(.named("b"), to: 1))
    #expect(device.workspace.threadQueue().threads[0].queuedAt == before)
  }

  // S2-53, S2-83.
  @Test func deletingAQueuedSessionTakesItOut() throws {
    var device = try device("a", "b", "c")
    try device.perform(.deleteSession(.named("b")))
    #expect(positions(device) == ["a": 1, "c": 2])
    // It comes back empty, and is at the end after the next send.
    try device.perform(.addSession(.named("b"), name: nil, project: nil))
    #expect(device.workspace.threadNames == ["a", "c"])
    try device.perform(.send("new", as: 9, in: "b"))
    #expect(device.workspace.threadNames == ["a", "c", "b"])
    #expect(device.workspace.numbers("b") == [9])
  }

  // S2-80: many sends in a row keep positions 1…N.
  @Test func rapidSendsNeverLeaveGapsOrDoubles() throws {
    var generator = TestSeeds.generator(standard: 5)
    var device = TestDevice(1, queueSizeMax: 1_000)
    for number in UInt64(1)...200 {
      let name = "thread \(generator.below(12))"
      if generator.chance(20), device.workspace.threadNames.contains(name) {
        try device.perform(.removeThreads([.named(name)]))
      } else {
        try device.perform(.send("text", as: number, in: name))
      }
      let threads = device.workspace.threadQueue().threads
      #expect(threads.map(\.position) == threads.indices.map { $0 + 1 })
      #expect(Set(threads.map(\.session)).count == threads.count)
    }
  }
}
