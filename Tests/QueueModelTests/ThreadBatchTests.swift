import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Several threads at once, adding by hand, the view of one project, and the numbers.
struct ThreadBatchTests {
  private func device(_ names: String...) throws -> TestDevice {
    var device = TestDevice(1)
    for (index, name) in names.enumerated() {
      try device.perform(.send("text", as: UInt64(index + 1), in: name))
    }
    return device
  }

  private func sessions(_ names: String...) -> [SessionID] { names.map(SessionID.named) }

  // S2-90: several keep the order in which they are named.
  @Test func severalThreadsMoveTogether() throws {
    var device = try device("a", "b", "c", "d", "e")
    let toFront = try device.perform(.moveThreads(sessions("d", "b"), to: .position(1)))
    #expect(toFront.notice == .moved(position: 1))
    #expect(device.workspace.threadNames == ["d", "b", "a", "c", "e"])
    try device.perform(.moveThreads(sessions("a", "d"), to: .after(.named("e"))))
    #expect(device.workspace.threadNames == ["b", "c", "e", "a", "d"])
    try device.perform(.moveThreads(sessions("d", "c"), to: .before(.named("b"))))
    #expect(device.workspace.threadNames == ["d", "c", "b", "e", "a"])
    #expect(
      try device.perform(.moveThreads(sessions("d", "c"), to: .position(1))).notice == .unchanged)
    // A position behind the last possible one for all of them puts them at that last one.
    try device.perform(.moveThreads(sessions("d", "c"), to: .position(5)))
    #expect(device.workspace.threadNames == ["b", "e", "a", "d", "c"])
    try device.perform(.undo)
    #expect(device.workspace.threadNames == ["d", "c", "b", "e", "a"])
  }

  @Test func impossibleMovesOfSeveralAreRefusedAndChangeNothing() throws {
    var device = try device("a", "b")
    try device.perform(.addSession(.named("out"), name: nil, project: nil))
    let refused: [(Command, String)] = [
      (.moveThreads([], to: .position(1)), "invalidMove"),
      (.moveThreads(sessions("a", "a"), to: .position(1)), "invalidMove"),
      (.moveThreads(sessions("a", "b"), to: .after(.named("b"))), "invalidMove"),
      (.moveThreads(sessions("a"), to: .before(.named("out"))), "threadNotQueued"),
      (.moveThreads(sessions("a", "out"), to: .position(1)), "threadNotQueued"),
      (.moveThreads(sessions("a"), to: .after(.named("none"))), "sessionNotFound"),
      (.moveThreads(sessions("a", "b"), to: .position(3)), "invalidPosition"),
      (.addThreads(sessions("a", "none")), "sessionNotFound"),
    ]
    for (command, code) in refused {
      let error = #expect(throws: QueueError.self) { try device.perform(command) }
      #expect(error?.code == code, "\(command)")
    }
    #expect(device.workspace.threadNames == ["a", "b"])
  }

  @Test func threadsAreAddedByHandAtTheEndAndReady() throws {
    var device = try device("a")
    try device.perform(.addSession(.named("b"), name: nil, project: nil))
    try device.perform(.addSession(.named("c"), name: nil, project: nil))
    let outcome = try device.perform(.addThreads(sessions("c", "b", "c")))
    #expect(outcome.notice == .affected(count: 2))
    #expect(device.workspace.threadNames == ["a", "c", "b"])
    #expect(device.workspace.threadQueue().ready.map(\.position) == [2, 3])
    let before = device.workspace.threadQueue().threads[1].queuedAt
    device.now += 1_000
    // If they are added again, they go to the end, with a new time; a thread that an agent works on
    // stays locked.
    try device.perform(.addThreads(sessions("a", "c")))
    #expect(device.workspace.threadNames == ["b", "a", "c"])
    #expect(device.workspace.threadQueue().threads.map(\.locked) == [false, true, false])
    #expect(device.workspace.threadQueue().threads[2].queuedAt > before + 1_000)
    try device.perform(.undo)
    // The places come back; the time does not.
    #expect(device.workspace.threadNames == ["a", "c", "b"])
    #expect(try device.perform(.addThreads([])).notice == .unchanged)
  }

  @Test func aThreadAddedByHandSurvivesARemovalElsewhere() throws {
    var left = try device("a", "b")
    try left.perform(.removeThreads(sessions("a")))
    var right = TestDevice(2)
    try right.merge(left.made)
    let known = left.made.count
    try left.perform(.addThreads(sessions("a")))
    try right.perform(.removeThreads(sessions("a", "b")))
    try right.merge(Array(left.made.dropFirst(known)))
    try left.merge(right.made)
    #expect(left.workspace.threadNames == ["a"])
    #expect(right.workspace.threadNames == ["a"])
  }

  // S2-91.
  @Test(arguments: [
    ("/src/shop", ["a", "c"]), ("/src/shop/", ["a", "c"]), ("/src", ["a", "b", "c"]),
    ("shop", ["a", "c"]), ("src", ["a", "b", "c"]), ("/", ["a", "b", "c"]), ("sho", []),
    ("/src/sho", []), ("", []),
  ])
  func aProjectIncludesItsSubfolders(project: String, expected: [String]) throws {
    var device = TestDevice(1)
    let paths = ["a": "/src/shop", "b": "/src/shopping", "c": "/src/shop/cart"]
    for (number, name) in ["a", "b", "c"].enumerated() {
      try device.perform(.addSession(.named(name), name: nil, project: paths[name]))
      try device.perform(.send("text", as: UInt64(number + 1), in: name))
    }
    let view = device.workspace.threadQueue().inProject(project)
    #expect(view.threads.map(\.session.rawValue) == expected)
    // Places are those in the whole queue.
    #expect(
      view.threads.map(\.position)
        == view.threads.map { $0.session.rawValue == "a" ? 1 : $0.session.rawValue == "b" ? 2 : 3 })
  }

  @Test func threadsWithoutAProjectAreInNone() throws {
    let device = try device("a")
    #expect(device.workspace.threadQueue().inProject("").threads.map(\.position) == [1])
    #expect(device.workspace.threadQueue().inProject("/").threads.isEmpty)
  }

  // S2-92.
  @Test func reviewsAreTheTimesBetweenSendsInTwoThreads() throws {
    var device = TestDevice(1)
    let minute: Int64 = 60_000
    // b after 2 minutes, c after 4, again c (no review), a the next day, d after 6.
    for (number, (name, wait)) in [
      ("a", 0), ("b", 2), ("c", 4), ("c", 1), ("a", 1_440), ("d", 6),
    ].enumerated() {
      device.now += Int64(wait) * minute - 1
      try device.perform(.send("text", as: UInt64(number + 1), in: name))
    }
    try device.perform(.unlockThread(.named("b")))
    try device.perform(.unlockThread(.named("d")))
    // The times after a removal, or an addition by hand, do not count as reviews.
    try device.perform(.removeThreads(sessions("c")))
    let history = Array(device.workspace.history(of: device.made).reversed())
    let numbers = ThreadStatistics(of: device.workspace.threadQueue(), history: history)
    #expect(numbers.count == 3)
    #expect(numbers.ready == 2)
    #expect(numbers.locked == 1)
    #expect(numbers.oldestQueuedAt == device.workspace.threadQueue().threads[0].queuedAt)
    #expect(numbers.reviews == 3)
    #expect(numbers.reviewMilliseconds == 4 * minute)
    #expect(numbers.estimateMilliseconds == 8 * minute)
    // The latest four sends contain one review, which is too few.
    let sends = history.filter { $0.action.name == "queued" }
    let fewer = ThreadStatistics(
      of: device.workspace.threadQueue(), history: Array(sends.prefix(4)))
    #expect(fewer.reviews == 1)
    #expect(fewer.estimateMilliseconds == nil)
    let none = ThreadStatistics(of: ThreadQueueView(threads: []), history: [])
    #expect(none.oldestQueuedAt == nil)
  }

  // S2-97.
  @Test func theHistoryOfTheThreadQueueIsWhatTouchedIt() throws {
    var device = try device("a", "b")
    try device.perform(.edit(.numbered(1), content: "other", base: nil))
    try device.perform(.unlockThread(.named("a")))
    try device.perform(.send("off", as: 9, in: "a", requeues: false))
    try device.perform(.removeThreads(sessions("b")))
    try device.perform(.addThreads(sessions("b")))
    let all = device.workspace.history(of: device.made)
    #expect(
      all.filter(HistorySubject.threadQueue.includes).map(\.action.name)
        == ["queued", "queued", "unlockedThread", "removedThread", "queuedThread"])
    #expect(
      all.filter(HistorySubject.thread(.named("a")).includes).map(\.action.name)
        == ["queued", "unlockedThread"])
  }
}
