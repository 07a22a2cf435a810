import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Ids belong to events; their forms may differ from one device to another.
@Suite struct FormTests {
  private func workspace(_ fleet: Fleet, _ index: Int) -> Workspace {
    fleet.devices[index].core.replica.workspace
  }

  private func record(_ fleet: Fleet, _ index: Int) -> ReplicaRecord {
    fleet.devices[index].core.replica.record
  }

  /// All texts of a message, shown ones and others.
  private func texts(_ workspace: Workspace, _ number: UInt64) -> [String] {
    workspace.image().sessions.flatMap(\.messages).first { $0.id == .numbered(number) }?
      .additions.map(\.text) ?? []
  }

  @Test func lostAcknowledgementAndAWrongClockDoubleNothing() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.server.acksToLose = 1
    try fleet.perform(.send("typed once", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    // The server's clock steps back: the next batch, which holds the first one too, is refused.
    fleet.devices[0].clockError = 3_600_000
    try fleet.perform(.send("later", as: 2, in: "a"), on: 0)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 1).contents("a") == ["typed once", "later"])
    #expect(texts(workspace(fleet, 1), 1) == ["typed once"])
    #expect(record(fleet, 0).ownReplicas.count == 1)
  }

  @Test func welcomeTellsOfWhatArrivedWithoutAcknowledgement() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.server.acksToLose = 1
    try fleet.perform(.send("arrived", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    fleet.isServerDown = true
    try fleet.perform(.send("unsent", as: 2, in: "a"), on: 0)
    fleet.isServerDown = false
    let count = fleet.server.received.count
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    let sent = try fleet.server.received[count...].flatMap { try PackedDelta.unpack($0.delta) }
    #expect(sent.count == fleet.server.log.last?.count)
  }

  /// A store whose unsent work two copies have, while a third wrote under the same ids.
  @Test(arguments: [false, true])
  func copiesAuthorAlikeWhatTheyHaveAlike(typesOn: Bool) throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    fleet.isServerDown = true
    let thief = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.insertText(.numbered(1), at: 6, text: " by two"), on: 0)
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), needsFreshReplica: true,
      id: fleet.devices[0].id)
    try fleet.perform(.send("of the third", as: 3, in: "a"), on: thief)
    if typesOn { try fleet.perform(.insertText(.numbered(1), at: 0, text: "now "), on: 0) }
    fleet.isServerDown = false
    try fleet.start(thief)
    try fleet.pass(60_000)
    try fleet.start(copy)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(
      Set(workspace(fleet, 0).contents("a")) == [
        typesOn ? "now shared by two" : "shared by two", "of the third",
      ])
  }

  @Test func serverThatWentBackWithItsClockGetsEverythingOnce() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("first", as: 1, in: "a"), on: 0)
    try fleet.settle()
    // All clocks are a day ahead when these are stored; then the server's is set right, and what
    // was stored is lost.
    let position = fleet.server.log.count
    fleet.now += 86_400_000
    try fleet.pass(60_000)
    try fleet.perform(.send("second", as: 2, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("third", as: 3, in: "a"), on: 1)
    try fleet.perform(.edit(.numbered(2), content: "second!", base: nil), on: 1)
    try fleet.settle()
    for index in 0...1 {
      fleet.cut(index)
      fleet.devices[index].actions = []
    }
    try fleet.server.restore(upTo: position)
    fleet.server.milliseconds -= 86_400_000
    fleet.serverError = -86_400_000
    try fleet.pass(300_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("a") == ["first", "second!", "third"])
    #expect(texts(workspace(fleet, 0), 2) == ["second!"])
    #expect(record(fleet, 0).ownReplicas.count == 1)
  }

  @Test func formOfTheServerTakesThePlaceOfTheOwn() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("ac", as: 1, in: "a"), on: 0)
    try fleet.settle()
    for index in 0...1 { fleet.cut(index) }
    fleet.isServerDown = true
    let typed = try fleet.perform(.insertText(.numbered(1), at: 1, text: "b"), on: 0)
    try fleet.perform(.insertText(.numbered(1), at: 2, text: "x"), on: 0)
    // Somebody else brought the first of them, with another place.
    var form = try #require(typed.operations.first)
    guard case .insertText(var insertion) = form.body else { return }
    insertion.origins.right = nil
    form.body = .insertText(insertion)
    try fleet.server.store([form])
    fleet.isServerDown = false
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    let shown = try #require(workspace(fleet, 1).contents("a").first)
    #expect(shown.sorted() == ["a", "b", "c", "x"])
    #expect(record(fleet, 0).ownReplicas.count == 1)
    #expect(record(fleet, 0).repairs == 1)
  }

  /// A device that was set back no longer knows that what it typed arrived.
  @Test(arguments: [false, true])
  func deviceSetBackAcrossAnEpochTypesNothingTwice(isEdited: Bool) throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("prompt", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    fleet.isServerDown = true
    try fleet.perform(.insertText(.numbered(1), at: 6, text: " typed"), on: 1)
    let backup = MemoryStore(copying: fleet.devices[1].store)
    fleet.isServerDown = false
    try fleet.pass(60_000)
    try fleet.perform(.send("after the backup", as: 2, in: "a"), on: 1)
    if isEdited { try fleet.perform(.deleteText(.numbered(1), 6..<7), on: 1) }
    try fleet.settle()
    fleet.compact()
    try fleet.settle()
    let lost = fleet.devices.remove(at: 1)
    let again = try fleet.addDevice(store: backup, needsFreshReplica: true, id: lost.id)
    try fleet.start(again)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(
      workspace(fleet, 0).contents("a") == [
        isEdited ? "prompttyped" : "prompt typed", "after the backup",
      ])
  }

  @Test func whatWaitsAfterAFormChangedIsInTheLogOnce() throws {
    var fleet = try Fleet(devices: 2)
    fleet.devices[0].clockError = 86_400_000
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.move([.numbered(1)], to: .position(1)), on: 0)
    try fleet.start()
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    for device in fleet.devices {
      let ids = device.store.operations.map(\.id)
      #expect(Set(ids).count == ids.count)
    }
  }

  /// The server is put back, has the first prompts with other stamps, and answers with a state.
  /// Their author takes it before another device brings what came behind them.
  @Test func aStateInAnotherFormDoublesNothing() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("first", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("withdrawn", as: 2, in: "a"), on: 0)
    // Of a withdrawal nothing shows in a state.
    try fleet.perform(.cancel([.numbered(2)]), on: 0)
    try fleet.settle()
    let position = fleet.server.log.count
    try fleet.perform(.send("second", as: 3, in: "a"), on: 0)
    try fleet.settle()
    for index in 0...1 {
      fleet.cut(index)
      fleet.devices[index].actions = []
    }
    fleet.server.log = fleet.server.log.map { $0.map(withEarlierStamp) }
    try fleet.server.restore(upTo: position)
    fleet.server.snapshotThreshold = 0
    fleet.losses[1] = .sent
    try fleet.pass(60_000)
    #expect(fleet.server.snapshotsSent > 0)
    fleet.losses = [:]
    fleet.cut(1)
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 1).contents("a") == ["first", "second"])
    #expect(texts(workspace(fleet, 1), 3) == ["second"])
    #expect(record(fleet, 0).ownReplicas.count == 1)
  }

  private func withEarlierStamp(_ operation: QueueModel.Operation) -> QueueModel.Operation {
    guard case .addMessage(var addition) = operation.body else { return operation }
    addition.stamp = Stamp(rawValue: addition.stamp.rawValue - 1)
    var changed = operation
    changed.body = .addMessage(addition)
    return changed
  }

  /// Two copies of a disk withdraw different prompts under one id, and the later one gets a state.
  @Test func whatDoesNotShowInAStateIsDoneAgain() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    for number in UInt64(1)...3 {
      try fleet.perform(.send("prompt \(number)", as: number, in: "a"), on: 0)
    }
    try fleet.settle()
    fleet.cut(0)
    fleet.isServerDown = true
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.cancel([.numbered(1)]), on: 0)
    try fleet.perform(.cancel([.numbered(2)]), on: copy)
    fleet.isServerDown = false
    fleet.server.snapshotThreshold = 0
    fleet.losses[0] = .sent
    try fleet.start(copy)
    try fleet.pass(60_000)
    fleet.losses = [:]
    fleet.cut(0)
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent > 0)
    #expect(fleet.server.workspace.contents("a") == ["prompt 3"])
  }

  /// Three copies of a disk: one gives the server what it has, one compares its operations, and one a
  /// state, in which nothing shows of the last that all three have.
  @Test(arguments: [false, true])
  func whatAStateHidesBeforeAForkIsNotAuthoredAnew(comparesStateFirst: Bool) throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.cut(0)
    fleet.isServerDown = true
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.perform(.renameSession(.named("a"), name: "common"), on: 0)
    let thief = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.send("of two", as: 2, in: "a"), on: 0)
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.send("of the third", as: 3, in: "a"), on: thief)
    try fleet.perform(.renameSession(.named("a"), name: "of the third"), on: thief)
    fleet.isServerDown = false
    try fleet.start(thief)
    fleet.server.snapshotThreshold = comparesStateFirst ? 0 : .max
    fleet.losses[0] = .sent
    try fleet.start(copy)
    fleet.server.snapshotThreshold = comparesStateFirst ? .max : 0
    fleet.losses = [:]
    fleet.cut(0)
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent > 0)
    let merged = workspace(fleet, 0)
    #expect(merged.contents("a").sorted() == ["of the third", "of two", "shared"])
    for number in UInt64(1)...3 { #expect(texts(merged, number).count == 1) }
  }

  /// Two copies of a disk queue behind one message, while a third device does. What the later copy
  /// authors anew stays where it stood there.
  @Test(arguments: 1...8)
  func whatIsAuthoredAnewStaysInItsPlace(seed: UInt64) throws {
    var fleet = try Fleet(devices: 2, seed: seed)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.send("of the copy", as: 2, in: "b"), on: copy)
    let refusal = Refusal(
      code: .storageFailed, message: "disk full", retryAfterMilliseconds: 60_000)
    fleet.server.refusals = [refusal, refusal, refusal]
    try fleet.perform(.send("before", as: 3, in: "a"), on: 0)
    try fleet.settle()
    fleet.server.refusals = []
    try fleet.perform(.send("of another", as: 4, in: "a"), on: 1)
    try fleet.settle()
    try fleet.perform(.send("behind", as: 5, in: "a"), on: 0)
    try fleet.settle()
    let before = workspace(fleet, 0).contents("a")
    #expect(before.count == 4)
    try fleet.start(copy)
    try fleet.pass(200_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("b") == ["of the copy"])
    #expect(workspace(fleet, 0).contents("a") == before)
  }
}
