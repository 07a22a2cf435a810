import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A memory was copied, both copies wrote under one replica, and a restored server logged one of
/// them. The other one's operations are recovered, and every device syncs again.
@Suite struct RecoveryTests {
  /// A device, a second one that continues from its memory, both offline, and one that only
  /// listens. The server has message 1.
  private struct Twins {
    var fleet: Fleet
    let first = 0
    let listener = 1
    let second: Int
    let position: Int

    init() throws {
      var fleet = try Fleet(devices: 2)
      try fleet.start()
      try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
      try fleet.settle()
      position = fleet.server.log.count
      fleet.cut(0)
      // Their author is drawn at random.
      try fleet.perform(.send("last of one", as: 2, in: "b"), on: 0)
      second = fleet.copyRunning(0)
      self.fleet = fleet
    }

    mutating func connect(_ index: Int) throws {
      fleet.note(index) { core, context, _ in core.syncRequested(at: context) }
      try fleet.settle()
    }

    /// The server logs the first one's work, forgets it, and logs the second one's in its place.
    mutating func connectWithAServerThatIsPutBack() throws {
      try connect(first)
      for index in [first, listener] { fleet.cut(index) }
      try fleet.server.restore(upTo: position)
      try connect(second)
      try fleet.pass(60_000)
      try fleet.expectConvergence()
    }

    func contents(_ session: String) -> [String] {
      fleet.server.workspace.contents(session).sorted()
    }
  }

  @Test func operationsWithOtherContentOnTheServerAreRepeated() throws {
    var twins = try Twins()
    let one = try twins.fleet.perform(.send("of the one", as: 3, in: "a"), on: twins.first)
    let other = try twins.fleet.perform(.send("of the other", as: 4, in: "a"), on: twins.second)
    #expect(one.operations.first?.id == other.operations.first?.id)
    try twins.connectWithAServerThatIsPutBack()
    // Two devices have the one's message, and add it as the same message.
    #expect(twins.contents("a") == ["of the one", "of the other", "shared"])
    #expect(twins.contents("b") == ["last of one"])
    let devices = twins.fleet.devices
    #expect(devices.map { $0.core.replica.record.repairs } == [1, 1, 0])
    #expect(devices[0].reports.contains { $0.message.contains("comes back") })
    #expect(twins.fleet.server.statesOffered == 0)
  }

  @Test(arguments: [1, 5])
  func operationsAfterItAreRestoredToo(of count: UInt64) throws {
    var twins = try Twins()
    for number in 0..<count {
      try twins.fleet.perform(.send("\(number)", as: 10 + number, in: "a"), on: twins.first)
    }
    try twins.fleet.perform(.insertText(.numbered(10), at: 1, text: " typed"), on: twins.first)
    try twins.fleet.perform(.send("of the other", as: 4, in: "c"), on: twins.second)
    try twins.connect(twins.first)
    // It is in the listener's state, and the rest is in no log.
    try twins.fleet.perform(.insertText(.numbered(1), at: 6, text: "!"), on: twins.listener)
    try twins.fleet.settle()
    twins.fleet.cut(twins.listener)
    try twins.fleet.perform(.send("unsent", as: 5, in: "a"), on: twins.listener)
    try twins.connectWithAServerThatIsPutBack()
    let numbers = (1..<count).map { "\($0)" }
    #expect(
      Set(twins.contents("a")) == Set(numbers + ["0 typed", "shared", "shared!", "unsent"]))
    #expect(twins.contents("c") == ["of the other"])
    #expect(twins.contents("a").count == Set(twins.contents("a")).count)
  }

  @Test func stoppedMessagesStayStopped() throws {
    var twins = try Twins()
    try twins.fleet.perform(.send("of the one", as: 3, in: "a"), on: twins.first)
    try twins.fleet.perform(.cancel([.numbered(1)]), on: twins.first)
    try twins.fleet.perform(.pause(.named("b"), reason: "wait"), on: twins.first)
    try twins.fleet.perform(.send("later", as: 6, in: "a"), on: twins.first)
    try twins.fleet.perform(
      .setNotBefore(.numbered(6), TestDevice.startOfTime + 86_400_000), on: twins.first)
    try twins.fleet.perform(.send("of the other", as: 4, in: "a"), on: twins.second)
    try twins.connectWithAServerThatIsPutBack()
    let workspace = twins.fleet.server.workspace
    #expect(try workspace.message(.numbered(1)).status == .cancelled)
    #expect(workspace.session(.named("b"))?.paused == true)
    // It had to wait for a time that is lost, so a user has to decide.
    #expect(workspace.contents("a").sorted() == ["of the one", "of the other"])
    #expect(
      workspace.cancelledMessages(of: .named("a")).map(\.content).sorted() == ["later", "shared"])
  }

  @Test(arguments: [RunPhase.succeeded, .failed, .interrupted, .unknown])
  func anEndedAttemptIsNotStartedAgain(as phase: RunPhase) throws {
    var twins = try Twins()
    try twins.fleet.perform(.send("of the one", as: 3, in: "a"), on: twins.first)
    let run = Run(token: 1, attempt: 1, phase: phase, milliseconds: TestDevice.startOfTime)
    try twins.fleet.perform(.reportRun(.numbered(1), run), on: twins.first)
    try twins.fleet.perform(.send("of the other", as: 4, in: "a"), on: twins.second)
    try twins.connectWithAServerThatIsPutBack()
    let workspace = twins.fleet.server.workspace
    #expect(try workspace.message(.numbered(1)).status == .cancelled)
    #expect(workspace.contents("a").sorted() == ["of the one", "of the other"])
  }

  @Test func halfOfAMessageIsNotStarted() throws {
    var author = TestDevice(1)
    try author.perform(.send(String(repeating: "long", count: 5_000), as: 1, in: "a"))
    let end = author.made.firstIndex {
      if case .clearTags(_, .incomplete, _) = $0.body { true } else { false }
    }
    var half = Workspace()
    _ = try half.merge(Array(author.made.prefix(upTo: try #require(end))))
    var device = TestDevice(2)
    for command in StateRecovery(of: half, in: device.workspace).commands() {
      try device.perform(command)
    }
    #expect(device.workspace.contents("a").isEmpty)
    let cancelled = device.workspace.cancelledMessages(of: .named("a"))
    #expect(cancelled.map(\.content.utf8.count) == [20_000])
  }

  @Test func aFailedWriteChangesNothing() throws {
    var twins = try Twins()
    try twins.fleet.perform(.send("of the one", as: 3, in: "a"), on: twins.first)
    try twins.fleet.perform(.send("of the other", as: 4, in: "a"), on: twins.second)
    try twins.connect(twins.first)
    twins.fleet.cut(twins.first)
    try twins.fleet.server.restore(upTo: twins.position)
    try twins.connect(twins.second)
    let before = twins.fleet.devices[0].core.replica.workspace.image()
    twins.fleet.devices[0].store.failure = StoreError(code: .full, message: "full")
    try twins.connect(twins.first)
    #expect(twins.fleet.devices[0].core.replica.workspace.image() == before)
    twins.fleet.devices[0].store.failure = nil
    try twins.fleet.pass(60_000)
    try twins.fleet.expectConvergence()
    #expect(twins.contents("a") == ["of the one", "of the other", "shared"])
  }
}
