import DispatchAuthority
import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// Several nodes over one store: the one that lost a workspace notices it before it answers anything.
@Suite struct SharedStoreTests {
  private static let lost = ServerReport.workspaceLost(ServerScene.workspace, .changedElsewhere)

  /// Two nodes. The first has a device with one prompt; the workspace is taken by the second,
  /// where another device has queued one, too.
  private struct Taken {
    var first: ServerScene
    var second: ServerScene
    var device: ScriptedDevice
    var connection: ConnectionID
    /// The first batch, as it was sent.
    var known: Frame

    init() throws {
      (first, second) = ServerScene.nodes()
      device = first.device(1)
      connection = try first.join(&device)
      try device.write("first")
      known = device.changes()
      first.send(known, on: connection)
      try device.take(first.take(connection))
      #expect(device.prefix.position == 1)
      var other = second.device(2)
      let there = try second.join(&other)
      #expect(other.prefix.position == 1)
      try other.write("second")
      second.send(other.changes(), on: there)
      #expect(second.take(there).acks.map(\.prefix.position) == [2])
    }

    /// The first node forgot everything, and takes the workspace back as its device returns.
    mutating func expectLoss() throws {
      #expect(first.closed[connection] == .serviceRestart)
      #expect(first.reports.filter { $0 == SharedStoreTests.lost }.count == 1)
      connection = try first.join(&device)
      #expect(first.closed[connection] == nil)
      #expect(try device.texts().isSuperset(of: ["first", "second"]))
    }
  }

  @Test func aBatchIsNotStoredByANodeThatLostTheWorkspace() throws {
    var taken = try Taken()
    try taken.device.write("third")
    taken.first.send(taken.device.changes(), on: taken.connection)
    #expect(taken.first.take(taken.connection).isEmpty)
    #expect(try taken.first.tables.log.count == 2)
    try taken.expectLoss()
  }

  @Test func aKnownBatchIsNotAcknowledgedFromMemory() throws {
    var taken = try Taken()
    taken.first.send(taken.known, on: taken.connection)
    #expect(taken.first.take(taken.connection).isEmpty)
    try taken.expectLoss()
    taken.first.send(taken.known, on: taken.connection)
    #expect(taken.first.take(taken.connection).acks.map(\.prefix.position) == [2])
  }

  @Test func aBatchIsNotRefusedFromMemory() throws {
    var taken = try Taken()
    taken.first.send(.changes(Changes(batch: 9, delta: [1, 2, 3])), on: taken.connection)
    #expect(taken.first.take(taken.connection).refusals.isEmpty)
    try taken.expectLoss()
    taken.first.send(.changes(Changes(batch: 9, delta: [1, 2, 3])), on: taken.connection)
    #expect(taken.first.take(taken.connection).refusals.map(\.code) == [.invalidChanges])
  }

  /// Requests whose answers store nothing: the authority's, and those about a device itself.
  @Test func aRequestIsNotAnsweredFromMemory() throws {
    let session = try SessionID("main")
    let requests = [
      AuthorityRequest.lease(session: session, token: 1).request(id: 5),
      AuthorityRequest.outcome(MessageID(high: 1, low: 1)).request(id: 5),
      InboxRequest.targets.request(id: 5),
    ]
    for request in requests {
      var taken = try Taken()
      taken.first.send(.request(request), on: taken.connection)
      let answers = taken.first.take(taken.connection).filter {
        if case .response = $0 { true } else { false }
      }
      #expect(answers.isEmpty)
      try taken.expectLoss()
      taken.first.send(.request(request), on: taken.connection)
      #expect(
        taken.first.take(taken.connection).contains {
          if case .response(let response) = $0 { response.id == 5 } else { false }
        })
    }
  }

  @Test func anAnswerByButtonIsNotTakenFromMemory() throws {
    var taken = try Taken()
    let answer = AnswerRequest(
      session: try SessionID("main"), request: RequestID(high: 5, low: 6), verdict: .allowed)
    let id = taken.first.post(answer, by: taken.device.id)
    #expect(taken.first.settled[id] == [.unavailable])
    try taken.expectLoss()
    let again = taken.first.post(answer, by: taken.device.id)
    #expect(taken.first.settled[again] == [.notAwaited])
  }

  /// Nothing was stored since: a lease that the first node renews now could be granted by the second
  /// before it ends.
  @Test func aTakeAloneIsNoticed() throws {
    var (first, second) = ServerScene.nodes()
    var (device, other) = (first.device(1), first.device(2))
    let connection = try first.join(&device)
    _ = try second.join(&other)
    first.send(.request(InboxRequest.targets.request(id: 5)), on: connection)
    #expect(first.closed[connection] == .serviceRestart)
    #expect(try first.tables.node == 1)
  }

  @Test func silentDevicesHearOfItWithinASecond() throws {
    var taken = try Taken()
    taken.first.pass(1_000)
    try taken.expectLoss()
  }

  @Test func aNodeThatTakesAWorkspaceBackReadsItAgain() throws {
    var taken = try Taken()
    var late = taken.first.device(3)
    _ = try taken.first.join(&late)
    #expect(try late.texts() == ["first", "second"])
    try taken.expectLoss()
  }

  /// A standby that lacks the latest commits became the store.
  @Test func aStoreThatLostItsTailIsNoticed() throws {
    var (scene, _) = ServerScene.nodes()
    var device = scene.device(1)
    let connection = try scene.join(&device)
    try device.write("first")
    scene.send(device.changes(), on: connection)
    try device.take(scene.take(connection))
    let standby = scene.storage.withState { $0 }
    try device.write("second")
    let second = device.changes()
    scene.send(second, on: connection)
    #expect(scene.take(connection).acks.map(\.prefix.position) == [2])
    scene.storage.withState { $0 = standby }
    scene.send(second, on: connection)
    #expect(scene.take(connection).isEmpty)
    #expect(scene.closed[connection] == .serviceRestart)
    let again = scene.connect(device)
    #expect(scene.take(again).welcomes.map(\.head.position) == [1])
  }

  /// The owner ended without a word; the others look again and again.
  @Test func whatADeadNodeOwedIsPushedByAnother() throws {
    var (first, second) = ServerScene.nodes()
    first.storage.withState { $0.livingNodes = [0, 1] }
    second.pass(6_000)
    let host = first.device(1)
    _ = first.device(2)
    first.storage.withState { state in
      let target = PushTargetRecord(
        device: host.id, id: PushTargetID(high: 1, low: 1), kind: "ntfy",
        address: "https://push.example/1", shownAddress: "…", registeredAt: 0)
      state.workspaces[ServerScene.workspace]?.inboxes.targets = [target]
      state.workspaces[ServerScene.workspace]?.inboxes.entries = [
        InboxEntry(device: host.id, position: 1)
      ]
      state.workspaces[ServerScene.workspace]?.inboxes.notifications = [
        StoredNotification(
          position: 1, name: OperationID(replica: ReplicaID(rawValue: 1), seq: 1),
          event: .threadReady(name: "main"), session: SessionID.named("main"), request: nil,
          message: nil,
          milliseconds: 0, expiresAt: nil)
      ]
    }
    second.pass(5_000)
    #expect(second.core.residentWorkspaces == 0, "the first node serves it")
    first.storage.withState { _ = $0.livingNodes.remove(0) }
    second.pass(5_000)
    second.pass(20_000)
    #expect(try second.tables.node == 1)
    #expect(second.storage.withState { $0.pushOrders.count } == 1)
  }
}
