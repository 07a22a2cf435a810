import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The log has other operations in place of those that wait to be sent: with other stamps, or from
/// a copy of the program's memory.
@Suite struct RebuildingTests {
  /// A device that waits for a connection, and an identical copy of its memory.
  private struct Twins {
    var fleet: Fleet
    let first = 0
    let second: Int

    init(seed: UInt64 = 1, text: String = "[]") throws {
      var fleet = try Fleet(devices: 1, seed: seed)
      try fleet.start()
      try fleet.perform(.send(text, as: 1, in: "a"), on: 0)
      try fleet.settle()
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

    /// Both connect, the first one first.
    mutating func connect() throws {
      try connect(first)
      try connect(second)
      try fleet.pass(60_000)
      try fleet.expectConvergence()
    }

    var repairs: [Int] { fleet.devices.map { $0.core.replica.record.repairs } }
    var text: String { fleet.server.workspace.contents("a").first ?? "" }
  }

  @Test func changesOfBothAreKept() throws {
    var twins = try Twins()
    let first = try twins.fleet.perform(.send("first!", as: 3, in: "a"), on: twins.first)
    let second = try twins.fleet.perform(.send("second", as: 4, in: "a"), on: twins.second)
    #expect(first.operations.ranges == second.operations.ranges)
    try twins.connect()
    #expect(twins.repairs == [0, 1])
    #expect(twins.fleet.server.workspace.contents("a").sorted() == ["[]", "first!", "second"])
    #expect(twins.fleet.server.workspace.contents("b") == ["last of one"])
    let logged = try twins.fleet.server.operations
    #expect(Set(logged.map(\.id)).count == logged.count)
    #expect(logged.contains(first.operations[0]))
  }

  @Test func anInsertionIsCutInItsMiddle() throws {
    var twins = try Twins()
    try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abcXX"), on: twins.first)
    try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abcYYY"), on: twins.second)
    try twins.connect()
    #expect(twins.repairs == [0, 1])
    #expect(["[abcXXYYY]", "[abcYYYXX]"].contains(twins.text), "\(twins.text)")
  }

  /// The log contains the beginning that both have, and something else in the next entry.
  @Test(arguments: [false, true])
  func anInsertionIsCutBehindWhatIsConfirmed(isSnapshot: Bool) throws {
    var twins = try Twins()
    try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abc"), on: twins.first)
    try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abcYYY"), on: twins.second)
    try twins.connect(twins.first)
    try twins.fleet.perform(.insertText(.numbered(1), at: 4, text: "XX"), on: twins.first)
    // The first continues under the same id, as if it had always been connected.
    try twins.fleet.settle()
    if isSnapshot { twins.fleet.server.catchUpEntriesMax = 0 }
    try twins.connect(twins.second)
    try twins.fleet.pass(60_000)
    try twins.fleet.expectConvergence()
    #expect(twins.repairs == [0, 1])
    #expect(["[abcXXYYY]", "[abcYYYXX]"].contains(twins.text), "\(twins.text)")
  }

  @Test func deletionsOverRenamedTextDeleteTheSame() throws {
    for isBackwards in [false, true] {
      var twins = try Twins()
      try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abcX"), on: twins.first)
      try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "abcYZUV"), on: twins.second)
      if isBackwards {
        for place in [5, 4, 3] {
          try twins.fleet.perform(.deleteText(.numbered(1), place..<place + 1), on: twins.second)
        }
      } else {
        try twins.fleet.perform(.deleteText(.numbered(1), 3..<6), on: twins.second)
      }
      let shown = twins.fleet.devices[twins.second].core.replica.workspace
      #expect(shown.contents("a") == ["[abUV]"])
      try twins.connect()
      #expect(twins.repairs == [0, 1])
      // Its deletion of "c", which both have, holds for both.
      #expect(["[abXUV]", "[abUVX]"].contains(twins.text), "\(twins.text)")
    }
  }

  @Test func referencesToRenamedOperationsFollowThem() throws {
    for seed in 1...4 as ClosedRange<UInt64> {
      var twins = try Twins(seed: seed)
      try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "X"), on: twins.first)
      let second = twins.second
      try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "Y"), on: second)
      try twins.fleet.perform(.send("second", as: 3, in: "c"), on: second)
      // Another run continues where that one ended, both in its text and separately.
      twins.fleet.isServerDown = true
      try twins.fleet.restart(second)
      try twins.fleet.perform(.send("independent", as: 4, in: "d"), on: second)
      try twins.fleet.perform(.insertText(.numbered(1), at: 2, text: "Z"), on: second)
      try twins.fleet.perform(.setPriority(.numbered(3), .urgent), on: second)
      twins.fleet.isServerDown = false
      try twins.connect()
      #expect(twins.repairs == [0, 1])
      #expect(["[XYZ]", "[YZX]"].contains(twins.text), "\(twins.text)")
      let workspace = twins.fleet.server.workspace
      #expect(try workspace.message(.numbered(3)).priority == .urgent)
      #expect(workspace.contents("d") == ["independent"])
    }
  }

  @Test func operationsWithOtherIDsAreNotUndone() throws {
    var twins = try Twins()
    try twins.fleet.perform(.send("first", as: 3, in: "a"), on: twins.first)
    try twins.fleet.perform(.send("second", as: 4, in: "a"), on: twins.second)
    try twins.connect()
    let change = twins.fleet.devices[twins.second].core.replica.undo.undoable.last?.number
    #expect(throws: Replica.Fault.self) {
      try twins.fleet.perform(.undo(change: change, skip: false), on: twins.second)
    }
    try twins.fleet.perform(.undo, on: twins.first)
    try twins.fleet.settle()
    #expect(twins.fleet.server.workspace.contents("a") == ["[]", "second"])
  }

  /// The server accepts the end of a batch whose beginning the other had sent, and acknowledges it.
  @Test func aBatchUnderWayThatTheServerHalfTookIsHeardOf() throws {
    var twins = try Twins()
    try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: "X"), on: twins.first)
    for text in ["Y", "Z"] {
      try twins.fleet.perform(.insertText(.numbered(1), at: 1, text: text), on: twins.second)
    }
    // The second connects first; its batches are on the way when the other's arrive.
    let second = twins.second
    twins.fleet.note(second) { core, context, _ in core.syncRequested(at: context) }
    while !twins.fleet.devices[second].actions.contains(where: {
      if case .send(_, .changes) = $0 { true } else { false }
    }) {
      try twins.fleet.advance(1)
    }
    let waiting = twins.fleet.devices[second].actions
    twins.fleet.devices[second].actions = []
    try twins.connect(twins.first)
    #expect(twins.repairs == [0, 1])
    // They still arrive, on the former connection, which has ended.
    for case .send(_, let frame) in waiting {
      if let fanOut = try twins.fleet.server.receive(frame, from: twins.fleet.devices[0].id).fanOut
      {
        // The same for the connection that replaced it.
        for index in twins.fleet.devices.indices { twins.fleet.deliver(fanOut, to: index) }
      }
    }
    try twins.fleet.pass(60_000)
    try twins.fleet.expectConvergence()
    #expect(twins.text.contains("X") && twins.text.contains("Y") && twins.text.contains("Z"))
  }

  @Test func aDiskThatIsFullChangesNothing() throws {
    var twins = try Twins()
    try twins.fleet.perform(.send("first", as: 3, in: "a"), on: twins.first)
    try twins.fleet.perform(.send("second", as: 4, in: "a"), on: twins.second)
    try twins.connect(twins.first)
    let device = twins.fleet.devices[twins.second]
    let before = device.core.replica.workspace.image()
    device.store.failure = StoreError(code: .full, message: "full")
    try twins.connect(twins.second)
    #expect(twins.fleet.devices[twins.second].core.replica.workspace.image() == before)
    try twins.fleet.expectStoreAgrees(twins.fleet.devices[twins.second])
    device.store.failure = nil
    try twins.fleet.pass(120_000)
    try twins.fleet.expectConvergence()
    #expect(twins.repairs == [0, 1])
  }

  /// With 85 and 132, the state does not show where the two first differ.
  @Test(arguments: TestSeeds.list(standard: 20) + [85, 132])
  func randomTwinsConverge(seed: UInt64) throws {
    var twins = try Twins(seed: seed, text: "some text")
    var commands = SeededGenerator(seed: seed)
    var sent: Set<UInt64> = [1, 2]
    for step in 0..<30 as Range<UInt64> {
      let index = commands.below(2) == 0 ? twins.first : twins.second
      let shown = twins.fleet.devices[index].core.replica.workspace
      let message = commands.pick(shown.numbers("a")) ?? 1
      let length = (try? shown.message(.numbered(message)).content.count) ?? 0
      var command = Command.insertText(
        .numbered(message), at: commands.below(length + 1), text: "<\(step)>")
      switch commands.below(6) {
      case 0, 1:
        sent.insert(10 + step)
        command = .send("text \(step)", as: 10 + step, in: "a")
      case 2 where length > 6:
        let start = commands.below(length - 3)
        command = .deleteText(.numbered(message), start..<start + 3)
      case 3:
        command = .move([.numbered(message)], to: .position(1))
      case 4 where commands.chance(20):
        twins.fleet.isServerDown = true
        try twins.fleet.restart(index)
        twins.fleet.isServerDown = false
      default: break
      }
      try twins.fleet.perform(command, on: index)
    }
    if commands.chance(50) { twins.fleet.server.catchUpEntriesMax = commands.below(3) }
    try twins.connect()
    let workspace = twins.fleet.server.workspace
    #expect(Set(workspace.numbers("a") + workspace.numbers("b")) == sent)
    #expect(twins.repairs[0] == 0)
  }

  // MARK: - Other stamps

  /// A device whose clock is a day ahead, and which does not know that.
  private func aheadFleet(messages: UInt64) throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    fleet.devices[0].clockError = 86_400_000
    fleet.isServerDown = true
    for number in 1...messages {
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: 0)
      fleet.now += 10
    }
    try fleet.perform(.insertText(.numbered(messages), at: 0, text: "last "), on: 0)
    return fleet
  }

  private func expectStamps(_ fleet: Fleet, _ location: SourceLocation = #_sourceLocation) throws {
    let logged = try fleet.server.operations
    let latest = logged.compactMap(\.stamp).max() ?? .zero
    #expect(
      latest.milliseconds <= fleet.wall + Limits.stampAheadMillisecondsMax,
      sourceLocation: location)
    // The device's store matches the server's log.
    let stored = fleet.devices[0].store.operations
    #expect(
      stored.map(\.id).sorted() == logged.map(\.id).sorted(), sourceLocation: location)
    #expect(Set(stored) == Set(logged), sourceLocation: location)
    #expect(
      fleet.devices[0].core.replica.workspace.latestStamp == latest, sourceLocation: location)
  }

  @Test(arguments: [1, 300] as [UInt64])
  func loweredStampsTakeThePlaceOfTheOwn(messages: UInt64) throws {
    var fleet = try aheadFleet(messages: messages)
    fleet.isServerDown = false
    try fleet.start()
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    try expectStamps(fleet)
    #expect(fleet.server.workspace.numbers("a") == Array(1...messages))
    #expect(fleet.devices[0].core.replica.record.repairs == 0)
    // The changes from that time can be undone.
    try fleet.perform(.undo, on: 0)
    try fleet.settle()
    #expect(fleet.server.workspace.contents("a").last == "text \(messages)")
    try fleet.expectConvergence()
  }

  /// The first answer changes the base of the batches after it, which are on their way.
  @Test func batchesBehindLoweredOnesStay() throws {
    var fleet = try aheadFleet(messages: 3)
    fleet.isServerDown = false
    fleet.note(0) { core, context, _ in core.started(at: context) }
    while fleet.server.received.isEmpty { try fleet.advance(1) }
    // Its answer has arrived; a command is performed before it is processed.
    for number in 4...6 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: 0)
    }
    try fleet.start(1)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    try expectStamps(fleet)
    #expect(fleet.server.workspace.numbers("a") == [1, 2, 3, 4, 5, 6])
  }

  /// The answer is lost; the operations come back with other stamps, in an entry or in a state.
  @Test(arguments: [false, true])
  func loweredStampsComeBackWithoutTheAnswer(isSnapshot: Bool) throws {
    var fleet = try aheadFleet(messages: 3)
    fleet.server.acksToLose = 1
    fleet.isServerDown = false
    try fleet.start()
    fleet.cut(0)
    try fleet.perform(.send("text 4", as: 4, in: "a"), on: 0)
    if isSnapshot { fleet.server.catchUpEntriesMax = 0 }
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent == (isSnapshot ? 1 : 0))
    if !isSnapshot { try expectStamps(fleet) }
    #expect(fleet.server.workspace.numbers("a") == [1, 2, 3, 4])
    #expect(fleet.devices[0].core.replica.record.repairs == 0)
  }

  /// Two writers of one device wait; the copy continued under the later one.
  @Test func stampsAndIDsChangeTogether() throws {
    for seed in 1...6 as ClosedRange<UInt64> {
      var fleet = try Fleet(devices: 1, seed: seed)
      fleet.devices[0].clockError = 86_400_000
      try fleet.perform(.send("of an earlier run", as: 1, in: "a"), on: 0)
      fleet.isServerDown = true
      try fleet.restart(0)
      try fleet.perform(.send("common", as: 2, in: "a"), on: 0)
      let copy = fleet.copyRunning(0)
      try fleet.perform(.send("first", as: 3, in: "a"), on: 0)
      try fleet.perform(.send("second", as: 4, in: "a"), on: copy)
      fleet.isServerDown = false
      for index in [0, copy] {
        fleet.note(index) { core, context, _ in core.syncRequested(at: context) }
        try fleet.settle()
      }
      try fleet.pass(60_000)
      try fleet.expectConvergence()
      #expect(fleet.server.workspace.numbers("a").sorted() == [1, 2, 3, 4])
      #expect(fleet.devices.map { $0.core.replica.record.repairs } == [0, 1])
    }
  }
}
