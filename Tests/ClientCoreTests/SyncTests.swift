import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct SyncTests {
  @Test func commandsReachEveryDevice() throws {
    var fleet = try Fleet(devices: 3)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("two", as: 2, in: "a"), on: 1)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.devices[2].core.replica.workspace.contents("a") == ["one", "two"])
  }

  @Test func offlineCommandsOfAnUnpairedDeviceAllGoUp() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    try fleet.start()
    for number in 1...500 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: 0)
    }
    try fleet.note(0) { try $0.paired(Fleet.credentials(), at: $1, store: $2) }
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a").count == 500)
    // One batch holds many commands, and no more than the window is on its way.
    #expect(fleet.server.received.count < 20)
  }

  // S2-89
  @Test func severalRemovalsAreOneWrite() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    try fleet.start()
    let names = (1...20).map { SessionID.named("thread \($0)") }
    for (index, name) in names.enumerated() {
      try fleet.perform(.send("text", as: UInt64(index + 1), in: name.rawValue), on: 0)
    }
    let commits = fleet.devices[0].store.commits
    let outcome = try fleet.perform(.removeThreads(names), on: 0)
    #expect(outcome.notice == .affected(count: 20))
    #expect(fleet.devices[0].store.commits == commits + 1)
    #expect(fleet.devices[0].core.replica.workspace.threadQueue().threads.isEmpty)
  }

  /// Acknowledged means on disk; but the server's content is shown before that.
  @Test func operationsAreAcknowledgedOnlyOnDisk() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    let device = fleet.devices[1].id
    let before = fleet.server.acknowledged[device]
    fleet.devices[1].store.defers = true
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    #expect(fleet.devices[1].core.replica.workspace.contents("a") == ["one"])
    #expect(!fleet.devices[1].store.isSynchronized)
    #expect(fleet.server.acknowledged[device] == before)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    try fleet.pass(49)
    #expect(fleet.server.acknowledged[device] == before)
    // There is one synchronization for both.
    try fleet.pass(1)
    #expect(fleet.devices[1].store.isSynchronized)
    #expect(fleet.server.acknowledged[device] == fleet.server.head.position)
    // The device's own command waits for the disk, and stores what arrived before.
    try fleet.perform(.send("three", as: 3, in: "a"), on: 0)
    try fleet.settle()
    #expect(!fleet.devices[1].store.isSynchronized)
    try fleet.perform(.send("four", as: 4, in: "a"), on: 1)
    #expect(fleet.devices[1].store.isSynchronized)
    try fleet.pass(100)
    #expect(fleet.server.acknowledged[device] == fleet.server.head.position)
    try fleet.expectConvergence()
  }

  @Test func helloTellsOnlyWhatIsOnDisk() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.devices[1].store.defers = true
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.devices[1].store.failure = StoreError(code: .full, message: "full")
    fleet.cut(1)
    try fleet.pass(60_000)
    #expect(!fleet.devices[1].store.isSynchronized)
    #expect(fleet.devices[1].reports.contains { $0.message == "cannot store: full" })
    fleet.devices[1].store.failure = nil
    try fleet.pass(60_000)
    #expect(fleet.devices[1].store.isSynchronized)
    try fleet.expectConvergence()
  }

  @Test func operationsOfOneCommandTravelInOneBatch() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("first", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let before = fleet.server.received.count
    let outcome = try fleet.perform(.send("text", as: 2, in: "b"), on: 0)
    try fleet.settle()
    #expect(fleet.server.received.count == before + 1)
    let batch = try #require(fleet.server.received.last)
    #expect(try PackedDelta.unpack(batch.delta).ranges == outcome.operations.ranges)
  }

  @Test func textBeyondAFrameIsSplitAndAcknowledgedAsOne() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    var generator = SeededGenerator(seed: 4)
    // Hardly compressible text of the maximum length.
    let text = String(
      String.UnicodeScalarView(
        (0..<300_000).compactMap { _ in Unicode.Scalar(0x4E00 + UInt32(generator.below(20_000))) }))
    try fleet.perform(.send(text, as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.devices[1].core.replica.workspace.contents("a") == [text])
  }

  @Test func lostAcknowledgementIsMadeUpForByTheEntryThatComesBack() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.server.acksToLose = 1
    try fleet.perform(.send("once", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let count = fleet.server.received.count
    #expect(!fleet.devices[0].core.replica.record.outbox.isEmpty)
    fleet.cut(0)
    // More is written before the connection is back: the server knows a part of it.
    let outcome = try fleet.perform(.send("twice", as: 2, in: "a"), on: 0)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["once", "twice"])
    let sent = try fleet.server.received[count...].flatMap { try PackedDelta.unpack($0.delta) }
    #expect(sent.suffix(outcome.operations.count) == outcome.operations[...])
    #expect(Set(sent.map(\.id.replica)) == Set(outcome.operations.map(\.id.replica)))
  }

  @Test func restoredServerGetsBackWhatItLost() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    for number in 1...10 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: Int(number % 2))
      try fleet.settle()
    }
    let all = fleet.server.workspace.image()
    // The second device, offline for now, made half of it; the first one sends that, too.
    fleet.cut(0)
    fleet.cut(1)
    try fleet.server.restore(upTo: 4)
    let away = fleet.devices.remove(at: 1)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.image() == all)
    fleet.devices.append(away)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
  }

  @Test func operationsThatNameOthersThatDidNotComeEndTheConnection() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let before = fleet.devices[0].core.replica.record
    var author = TestDevice(50)
    try author.perform(.send("early", as: 1, in: "a"))
    let back = PackedDelta.pack(Array(author.made.dropFirst(2)))
    fleet.deliver(
      .changes(Changes(batch: 0, prefix: LogPrefix(position: 5, chain: 1), delta: back)), to: 0)
    try fleet.settle()
    #expect(fleet.devices[0].open == nil)
    #expect(fleet.devices[0].core.replica.record == before)
    #expect(fleet.devices[0].core.replica.workspace.contents("a") == [])
    try fleet.expectStoreAgrees(fleet.devices[0])
  }

  @Test func longAbsenceIsMadeUpByASnapshotWithoutLosingLocalChanges() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    fleet.devices[1].actions = []
    try fleet.perform(.send("local", as: 2, in: "a"), on: 1)
    for number in 10...60 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "b"), on: 0)
    }
    try fleet.settle()
    fleet.server.catchUpEntriesMax = 0
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.devices[1].store.baseImage != nil)
    #expect(fleet.server.workspace.contents("a") == ["shared", "local"])
    // A store with a base yields the same state.
    try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[1].store), id: fleet.devices[1].id)
    #expect(
      fleet.devices[2].core.replica.workspace.image()
        == fleet.devices[1].core.replica.workspace.image())
  }

  @Test func seenByFollowsTheOtherDevices() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    let range = try #require(
      try fleet.perform(.send("text", as: 1, in: "a"), on: 0).operations.ranges.first)
    #expect(fleet.devices[0].core.progress(of: range) == .onThisDevice)
    try fleet.settle()
    #expect(fleet.devices[0].core.progress(of: range) == .onServer)
    let other = fleet.devices[1].id
    let seen = try #require(fleet.server.acknowledged[other])
    #expect(seen == fleet.server.head.position)
    for (position, expected) in [
      (seen - 1, ClientCore.Progress.onServer), (seen, .seen([other])),
    ] {
      fleet.deliver(
        .presence([
          DevicePresence(
            device: other, name: "other", isConnected: true, seenLogPosition: position)
        ]), to: 0)
      #expect(fleet.devices[0].core.progress(of: range) == expected)
    }
  }

  /// If the acknowledgement is lost, the position is unknown; "seen by" errs towards no.
  @Test func ownOperationsFromTheServerAreOnTheServer() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.server.acksToLose = 1
    let range = try #require(
      try fleet.perform(.send("text", as: 1, in: "a"), on: 0).operations.ranges.first)
    try fleet.settle()
    #expect(fleet.devices[0].core.progress(of: range) == .onThisDevice)
    fleet.cut(0)
    try fleet.pass(1_000)
    #expect(fleet.devices[0].core.progress(of: range) == .onServer)
  }

  @Test func fullDiskRefusesCommandsAndKeepsMemoryAsTheStoreIs() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let before = fleet.devices[0].core.replica.workspace.image()
    fleet.devices[0].store.failure = StoreError(code: .full, message: "full")
    #expect(throws: Replica.Fault.store(StoreError(code: .full, message: "full"))) {
      try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    }
    #expect(fleet.devices[0].core.replica.workspace.image() == before)
    try fleet.expectStoreAgrees(fleet.devices[0])
    fleet.devices[0].store.failure = nil
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.expectConvergence()
  }

  @Test func remoteChangesThatCannotBeStoredAreNeitherShownNorAcknowledged() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    let seen = fleet.server.acknowledged[fleet.devices[1].id]
    fleet.devices[1].store.failure = StoreError(code: .full, message: "full")
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    #expect(fleet.devices[1].open == nil)
    #expect(fleet.devices[1].core.replica.workspace.contents("a").isEmpty)
    #expect(fleet.server.acknowledged[fleet.devices[1].id] == seen)
    fleet.devices[1].store.failure = nil
    try fleet.pass(2_000)
    try fleet.expectConvergence()
  }

  @Test func stampsFollowTheServersClockWhereTheOwnIsOff() throws {
    var fleet = try Fleet(devices: 1)
    fleet.devices[0].clockError = -86_400_000
    try fleet.start()
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let message = try fleet.devices[0].core.replica.workspace.message(.numbered(1))
    #expect(abs(message.createdAt - fleet.wall) < 10)
  }

  @Test(arguments: [Int64.min, -1, Int64.max])
  func impossibleServerClocksDoNoHarm(_ milliseconds: Int64) throws {
    var fleet = try Fleet(devices: 1)
    fleet.note(0) { core, context, _ in core.started(at: context) }
    let id = TransportID(rawValue: 1)
    fleet.note(0) { core, context, store in core.connectionOpened(id, at: context, store: store) }
    fleet.note(0) { core, context, store in
      core.frameReceived(
        .welcome(
          Welcome(
            version: ProtocolVersion.current, head: LogPrefix(position: .max, chain: 1), nonce: 1,
            serverMilliseconds: milliseconds, pingSeconds: 0, backoffMillisecondsMin: .max)),
        on: id, at: context, store: store)
    }
    fleet.now += 1_000_000
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    #expect(fleet.devices[0].core.replica.workspace.contents("a") == ["text"])
  }

  @Test func troubleIsOverOnceABatchGetsThrough() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.server.refusals = [
      Refusal(code: .storageFailed, message: "full", retryAfterMilliseconds: 100)
    ]
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    #expect(fleet.devices[0].core.problem != nil)
    try fleet.pass(2_000)
    #expect(fleet.devices[0].core.problem == nil)
  }

  @Test func smallClockDifferencesAreLeftAlone() throws {
    var fleet = try Fleet(devices: 1)
    fleet.devices[0].clockError = -1_500
    try fleet.start()
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    let message = try fleet.devices[0].core.replica.workspace.message(.numbered(1))
    #expect(message.createdAt == fleet.wall - 1_500)
  }

  @Test(arguments: TestSeeds.list(standard: 40))
  func randomRunsWithCutsConverge(seed: UInt64) throws {
    var fleet = try Fleet(devices: 3, seed: seed)
    var commands = SeededGenerator(seed: seed)
    try fleet.start()
    var number: UInt64 = 0
    for _ in 0..<120 {
      let index = commands.below(3)
      switch commands.below(12) {
      case 0: fleet.cut(index)
      case 1: fleet.server.acksToLose += 1
      case 2: fleet.server.catchUpEntriesMax = commands.chance(50) ? 2 : .max
      case 3:
        try fleet.server.restore(upTo: max(0, fleet.server.log.count - commands.below(3)))
        for device in fleet.devices.indices { fleet.cut(device) }
      case 4: try fleet.pass(Int64(commands.below(40_000)))
      case 5: try fleet.settle()
      default:
        number += 1
        let known = fleet.devices[index].core.replica.workspace.numbers("a")
        if let target = commands.pick(known), commands.chance(50) {
          let command: Command =
            commands.chance(50)
            ? .cancel([.numbered(target)])
            : .move([.numbered(target)], to: .position(1 + commands.below(known.count)))
          try fleet.perform(command, on: index)
        } else {
          try fleet.perform(.send("text \(number)", as: number, in: "a"), on: index)
        }
      }
    }
    try fleet.pass(120_000)
    fleet.server.catchUpEntriesMax = .max
    for _ in 0..<3 {
      for device in fleet.devices.indices { fleet.cut(device) }
      try fleet.pass(120_000)
    }
    try fleet.expectConvergence()
    #expect(fleet.devices.allSatisfy { $0.core.replica.record.repairs == 0 }, "seed \(seed)")
  }
}
