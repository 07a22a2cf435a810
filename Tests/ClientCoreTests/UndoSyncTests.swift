import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Undo and the log on devices that sync.
@Suite struct UndoSyncTests {
  private func expectStored(
    _ fleet: Fleet, _ index: Int, _ location: SourceLocation = #_sourceLocation
  ) {
    let device = fleet.devices[index]
    let stored = UndoHistory(device.store.loaded.undo).entries
    #expect(stored == device.core.replica.undo.entries, sourceLocation: location)
  }

  @Test func undoReachesTheOthersAndOvertakenChangesStay() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    try fleet.perform(.cancel([.numbered(1)]), on: 0)
    try fleet.settle()
    try fleet.perform(.restore(.numbered(1)), on: 1)
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.settle()
    expectStored(fleet, 0)
    // The other device cancelled it again: that stays. The change before can be undone after that
    // is skipped.
    #expect(throws: (any Error).self) { try fleet.perform(.undo, on: 0) }
    try fleet.perform(.undo(change: nil, skip: true), on: 0)
    try fleet.perform(.undo, on: 0)
    expectStored(fleet, 0)
    try fleet.pass(1_000)
    #expect(fleet.server.workspace.contents("a") == [])
    try fleet.perform(.redo, on: 0)
    try fleet.pass(1_000)
    #expect(fleet.server.workspace.contents("a") == ["two"])
    try fleet.expectConvergence()
    expectStored(fleet, 0)
  }

  @Test func undoSurvivesARestartAndOtherReplicaIDs() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("rite", as: 2, in: "a"), on: 0)
    try fleet.perform(.insertText(.numbered(2), at: 1, text: "wh"), on: 0)
    fleet.cut(0)
    try fleet.perform(.move([.numbered(2)], to: .position(1)), on: 0)
    try fleet.perform(.renameSession(.named("a"), name: "A"), on: 0)
    try fleet.restart(0)
    try fleet.pass(1_000)
    expectStored(fleet, 0)
    for expected in [
      ["rwhite", "shared"], ["shared", "rwhite"], ["shared", "rite"], ["shared"],
    ] {
      try fleet.perform(.undo, on: 0)
      #expect(fleet.devices[0].core.replica.workspace.contents("a") == expected)
    }
    #expect(fleet.devices[0].core.replica.workspace.session(.named("a"))?.name == "a")
    try fleet.settle()
    try fleet.expectConvergence()
  }

  @Test func undoneTextFindsItsPlaceBehindASnapshot() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("keep this here", as: 1, in: "a"), on: 0)
    try fleet.perform(.deleteText(.numbered(1), 5..<10), on: 0)
    try fleet.settle()
    fleet.cut(0)
    try fleet.perform(.send("and this", as: 2, in: "a"), on: 1)
    try fleet.settle()
    fleet.server.catchUpEntriesMax = 0
    try fleet.pass(1_000)
    #expect(fleet.devices[0].store.baseImage != nil)
    expectStored(fleet, 0)
    try fleet.perform(.undo, on: 0)
    try fleet.pass(1_000)
    #expect(fleet.server.workspace.contents("a") == ["keep this here", "and this"])
    try fleet.expectConvergence()
  }

  @Test func theLogTellsWhoDidWhatAndWhen() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    fleet.now += 60_000
    try fleet.perform(.insertText(.numbered(1), at: 3, text: "!"), on: 0)
    try fleet.settle()
    try fleet.perform(.setPriority(.numbered(1), .urgent), on: 1)
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.settle()
    try fleet.perform(.send("two", as: 2, in: "b"), on: 0)
    let (replica, store) = (fleet.devices[0].core.replica, fleet.devices[0].store)
    let page = try replica.history(
      of: .message(.numbered(1)), before: nil, limit: 10, store: store)
    #expect(page.next == nil)
    #expect(page.entries.map(\.action.name) == ["cancelled", "setPriority", "edited", "queued"])
    #expect(
      page.entries.map { $0.device?.name }
        == ["device 2", "device 2", "device 1", "device 1"])
    let times = try page.entries.map { try #require($0.milliseconds) }
    #expect(times[0] == times[1])
    #expect(times[2] - times[3] >= 60_000, "typing has the time at which it was typed")
    #expect(page.entries.last?.action == .queued(text: "one", priority: .normal))
    // In pages of one.
    var paged: [HistoryEntry] = []
    var place: HistoryPosition?
    repeat {
      let part = try replica.history(
        of: .message(.numbered(1)), before: place, limit: 1, store: store)
      paged += part.entries
      place = part.next
    } while place != nil
    #expect(paged.map(\.action) == page.entries.map(\.action))
    let all = try replica.history(of: .workspace, before: nil, limit: 100, store: store)
    #expect(all.entries.first?.action == .queued(text: "two", priority: .normal))
    #expect(all.entries.filter { $0.action.name == "joined" }.count == 2)
    let session = try replica.history(
      of: .session(.named("b")), before: nil, limit: 100, store: store)
    #expect(session.entries.map(\.action.name) == ["queued", "addedSession"])
  }

  @Test func changesWithoutAStampShowTheirOwnTime() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    let commands: [Command] = [
      .insertText(.numbered(1), at: 0, text: "x"), .insertText(.numbered(1), at: 0, text: "y"),
      .cancel([.numbered(1), .numbered(2)]), .restore(.numbered(1)),
      .pause(.named("a"), reason: nil), .resume(.named("a")), .setPriority(.numbered(1), .urgent),
      .unlockThread(.named("a")), .removeThreads([.named("a")]),
    ]
    var expected: [Int64] = []
    let start = fleet.now
    for command in commands {
      fleet.now += 600_000
      try fleet.perform(command, on: 0)
      expected.append(fleet.now - start)
    }
    // Changes that follow at once need no further note.
    let operations = fleet.devices[0].store.operations.count
    try fleet.perform(.unlockThread(.named("a")), on: 0)
    try fleet.perform(.pause(.named("a"), reason: "wait"), on: 0)
    #expect(fleet.devices[0].store.operations.count == operations + 1)
    try fleet.settle()
    for device in fleet.devices {
      let page = try device.core.replica.history(
        of: .session(.named("a")), before: nil, limit: 100, store: device.store)
      let restored = page.entries.reversed().filter {
        $0.action.name != "queued" && $0.action.name != "addedSession"
      }
      let first = try #require(page.entries.last?.milliseconds)
      let ages = try restored.map { try #require($0.milliseconds) - first }
      let names = restored.map(\.action.name)
      #expect(
        names == [
          "edited", "edited", "cancelled", "cancelled", "restored", "paused", "resumed",
          "setPriority", "unlockedThread", "removedThread", "paused",
        ])
      let places = [0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8]
      guard ages.count == places.count else { continue }
      for (index, place) in places.enumerated() {
        #expect(abs(ages[index] - expected[place]) <= 1_000, "\(names[index])")
      }
    }
  }

  @Test func theLogTellsWhatItToldBeforeASnapshot() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.now += 60_000
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.settle()
    fleet.cut(0)
    try fleet.perform(.send("mine", as: 3, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 1)
    fleet.server.catchUpEntriesMax = 0
    try fleet.pass(1_000)
    let (replica, store) = (fleet.devices[0].core.replica, fleet.devices[0].store)
    #expect(store.baseImage != nil)
    let page = try replica.history(
      of: .message(.numbered(1)), before: nil, limit: 10, store: store)
    #expect(page.entries.map(\.action.name) == ["cancelled", "queued"])
    #expect(page.entries.allSatisfy { $0.milliseconds != nil && $0.device != nil })
    let own = try replica.history(
      of: .message(.numbered(3)), before: nil, limit: 10, store: store)
    #expect(own.entries.map(\.action.name) == ["queued"], "what waited is told once")
    // In pages of one, across the border.
    var paged: [String] = []
    var place: HistoryPosition?
    repeat {
      let part = try replica.history(of: .workspace, before: place, limit: 1, store: store)
      paged += part.entries.map(\.action.name)
      place = part.next
    } while place != nil
    let all = try replica.history(of: .workspace, before: nil, limit: 100, store: store)
    #expect(paged == all.entries.map(\.action.name))
    #expect(paged.filter { $0 == "queued" }.count >= 2)
  }

  @Test func everyVersionCanBeSeenAgain() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    var versions: [(VersionVector, WorkspaceImage)] = []
    for number in 1...12 as ClosedRange<UInt64> {
      let index = Int(number % 2)
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: index)
      try fleet.perform(.move([.numbered(number)], to: .position(1)), on: index)
      try fleet.settle()
      let workspace = fleet.devices[0].core.replica.workspace
      versions.append((workspace.vector, workspace.image()))
    }
    let (replica, store) = (fleet.devices[0].core.replica, fleet.devices[0].store)
    for (version, image) in versions {
      let isEqual = try replica.workspace(at: version, store: store).image() == image
      #expect(isEqual)
    }
    let steps = try replica.changes(
      from: versions[3].0, to: versions[4].0, store: store)
    #expect(
      steps.contains {
        guard case .messages(_, let changes) = $0, changes.count == 1 else { return false }
        if case .insert(let view, 0) = changes[0] { return view.content == "text 5" }
        return false
      })
    // Back again, in the opposite direction.
    let back = try replica.changes(from: versions[4].0, to: versions[3].0, store: store)
    #expect(
      back.contains {
        guard case .messages(_, [.remove(.numbered(5), at: 0)]) = $0 else { return false }
        return true
      })
  }

  @Test func versionsThatTheLogDoesNotHoldAreRefused() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.pass(1_000)
    let early = fleet.devices[0].core.replica.workspace.vector
    try fleet.perform(.send("two", as: 2, in: "a"), on: 1)
    try fleet.pass(1_000)
    let replica = fleet.devices[0].core.replica
    var unknown = replica.workspace.vector
    unknown[ReplicaID(rawValue: 77)] = 1
    #expect(throws: Replica.Fault.history(.unknownVersion)) {
      try replica.workspace(at: unknown, store: fleet.devices[0].store)
    }
    // The second device's send refers to the session that the first one opened.
    var torn = VersionVector()
    let second = try #require(fleet.devices[1].store.operations.last).id.replica
    torn[second] = replica.workspace.vector[second]
    #expect(throws: Replica.Fault.history(.incompleteVersion)) {
      try replica.workspace(at: torn, store: fleet.devices[0].store)
    }
    fleet.cut(0)
    try fleet.perform(.send("three", as: 3, in: "a"), on: 1)
    fleet.server.catchUpEntriesMax = 0
    try fleet.pass(1_000)
    let base = try #require(fleet.devices[0].store.baseImage).vector
    #expect(throws: Replica.Fault.history(.forgotten(earliest: base))) {
      try fleet.devices[0].core.replica.workspace(at: early, store: fleet.devices[0].store)
    }
    let now = try fleet.devices[0].core.replica.workspace(
      at: fleet.devices[0].core.replica.workspace.vector, store: fleet.devices[0].store)
    #expect(now.contents("a") == ["one", "two", "three"])
  }

  @Test func mergingTwiceChangesNothing() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let before = fleet.devices[1].core.replica
    var replica = before
    let operations = fleet.devices[0].store.operations
    #expect(operations.count >= 4)
    let touched = try replica.merge(
      Replica.Delivery(operations: operations, prefix: replica.record.prefix),
      at: fleet.context(), store: fleet.devices[1].store)
    #expect(touched == TouchedQueues())
    #expect(replica.workspace.image() == before.workspace.image())
    #expect(replica.lastEntry == before.lastEntry && replica.record == before.record)
  }
}
