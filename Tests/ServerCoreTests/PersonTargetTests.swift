import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

/// The user's own targets: notified whenever the user looks at no device.
@Suite struct PersonTargetTests {
  private static let target = PushTargetID(high: 8, low: 1)

  private func set(_ pair: inout NotifiedPair, _ owner: PushTargetOwner = .person) throws {
    let answer = try pair.ask(
      .setTarget(Self.target, kind: "ntfy", address: "https://n.example/t", owner: owner))
    #expect(answer == .done)
  }

  /// The user's notifications, by their kind.
  private func pushed(_ pair: NotifiedPair) -> [PushOrder.Kind] {
    pair.orders.filter { $0.device == .person }.map(\.kind)
  }

  private func look(_ pair: inout NotifiedPair, _ isLooking: Bool) throws {
    #expect(try pair.ask(.visibility(isLooking)) == .done)
    pair.scene.pass(1)
  }

  /// The user looked until now, so the delay begins.
  private func lookAndLeave(_ pair: inout NotifiedPair) throws {
    try look(&pair, true)
    try look(&pair, false)
  }

  private func becomesViewer(_ pair: inout NotifiedPair) throws {
    let phone = pair.phone.id
    pair.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.devices[phone]?.record.role = .viewer
    }
    pair.phoneLeaves()
    _ = try pair.phoneReturns()
  }

  private func setByHost(_ pair: inout NotifiedPair, _ owner: PushTargetOwner = .person) {
    let request = InboxRequest.setTarget(
      Self.target, kind: "ntfy", address: "https://n.example/t", owner: owner)
    pair.scene.send(.request(request.request(id: 9)), on: pair.hostConnection)
  }

  /// A request that is shorter than the delay would end before the user knows of it.
  @Test func aUserWhoLookedNowhereIsNotifiedAtOnce() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try pair.report(
      NotifiedPair.working, NotifiedPair.approval(1, expires: NotifiedPair.wall + 60_000))
    #expect(pushed(pair) == [.alert])
    try lookAndLeave(&pair)
    pair.scene.pass(60_000)
    try pair.report(NotifiedPair.working)
    try pair.report(.completed(.success(summary: "done")))
    #expect(pushed(pair) == [.alert, .retract, .alert], "nor did anyone look during the delay")
  }

  @Test func theTimeOfTheLastLookIsRemembered() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    #expect(
      try pair.ask(.setPreferences(NotificationPreferences(personDelaySeconds: 600))) == .done)
    try look(&pair, true)
    pair.phoneLeaves()
    pair.scene.drop(pair.hostConnection)
    for _ in 0..<3 { pair.scene.pass(100_000) }
    pair.hostConnection = pair.scene.connect(pair.host)
    try pair.host.take(pair.scene.take(pair.hostConnection))
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(299_000)
    #expect(pushed(pair).isEmpty)
    pair.scene.pass(2_000)
    #expect(pushed(pair) == [.alert])
  }

  /// A viewer may belong to another person.
  @Test func aViewerNeitherChangesNorSilencesThePersonsTargets() throws {
    var pair = try NotifiedPair()
    setByHost(&pair)
    try becomesViewer(&pair)
    let requests: [InboxRequest] = [
      .setTarget(Self.target, kind: "ntfy", address: "https://v.example/t", owner: .person),
      .setTarget(Self.target, kind: "ntfy", address: "https://v.example/t"),
      .setTarget(
        PushTargetID(high: 8, low: 2), kind: "ntfy", address: "https://v.example/t", owner: .person),
      .removeTarget(Self.target), .testTarget(Self.target),
    ]
    for request in requests {
      guard case .unusable(let problem)? = try pair.ask(request) else {
        Issue.record("\(request) was taken")
        continue
      }
      #expect(problem.contains("may only view"))
    }
    try pair.addTarget(3)
    guard case .targets(let listed)? = try pair.ask(.targets) else {
      Issue.record("no targets")
      return
    }
    #expect(listed.map(\.owner) == [.person, .device])
    try look(&pair, true)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pushed(pair) == [.alert])
    #expect(pair.orders.count == 1, "nothing is pushed to the device that its viewer looks at")
  }

  @Test func theUserIsNotifiedThoughAllDevicesAreConnected() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    for notification in pair.received() { pair.acknowledge(notification.position) }
    pair.scene.pass(59_998)
    #expect(pair.orders.isEmpty)
    pair.scene.pass(1)
    #expect(pair.orders.map(\.device) == [.person])
    pair.scene.pass(600_000)
    #expect(pushed(pair) == [.alert], "once")
    try pair.report(NotifiedPair.working)
    #expect(pushed(pair) == [.alert, .retract])
    #expect(pair.entries.isEmpty)
  }

  /// The server does not notify the device that runs the agent, but its user.
  @Test func aUserWithOneDeviceIsNotified() throws {
    var pair = try NotifiedPair()
    let request = InboxRequest.setTarget(
      Self.target, kind: "ntfy", address: "https://n.example/t", owner: .person)
    pair.scene.send(.request(request.request(id: 9)), on: pair.hostConnection)
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, .completed(.success(summary: "done")))
    pair.scene.pass(60_000)
    #expect(pushed(pair) == [.alert])
    #expect(pair.entries.map(\.device) == [pair.phone.id], "the others have ended")
  }

  @Test func aUserWhoLooksAtADeviceIsNotNotified() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try look(&pair, true)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(600_000)
    #expect(pushed(pair).isEmpty)
    try look(&pair, false)
    pair.scene.pass(59_998)
    #expect(pushed(pair).isEmpty, "the delay begins when the user stops looking")
    pair.scene.pass(2)
    #expect(pushed(pair) == [.alert], "the request is still open")
  }

  @Test func eventsWithoutARequestCountAsSeenByAUserWhoLooked() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "done")))
    pair.scene.pass(30_000)
    try lookAndLeave(&pair)
    pair.scene.pass(600_000)
    #expect(pushed(pair).isEmpty)
    #expect(!pair.entries.contains { $0.device == .person })
  }

  @Test func requestsSettledMeanwhileAreNotSent() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(59_000)
    try pair.report(NotifiedPair.working)
    pair.scene.pass(600_000)
    #expect(pushed(pair).isEmpty)
  }

  @Test func theSettingsOfTheDeviceThatSetItCount() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    let preferences = NotificationPreferences(
      off: [.taskComplete], showsDetails: true, personDelaySeconds: 5)
    #expect(try pair.ask(.setPreferences(preferences)) == .done)
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "done")))
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1), at: NotifiedPair.wall + 1)
    pair.scene.pass(4_998)
    #expect(pushed(pair).isEmpty)
    pair.scene.pass(1)
    let orders = pair.orders.filter { $0.device == .person }
    #expect(orders.map(\.showsDetails) == [true])
    #expect(orders.map(\.notification.event.category) == [.approvalRequest])
  }

  @Test func aRestartForgetsNothing() throws {
    var pair = try NotifiedPair()
    try set(&pair)
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.restart(ServerConfiguration())
    pair.scene.pass(1)
    pair.scene.pass(60_000)
    #expect(pushed(pair) == [.alert], "although no device connects")
  }

  @Test func everyDeviceListsTestsAndRemovesIt() throws {
    var pair = try NotifiedPair()
    let request = InboxRequest.setTarget(
      Self.target, kind: "ntfy", address: "https://n.example/t", owner: .person)
    pair.scene.send(.request(request.request(id: 9)), on: pair.hostConnection)
    guard case .targets(let listed)? = try pair.ask(.targets) else {
      Issue.record("no targets")
      return
    }
    #expect(listed.map(\.owner) == [.person])
    try lookAndLeave(&pair)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(try pair.ask(.removeTarget(Self.target)) == .done)
    #expect(!pair.entries.contains { $0.device == .person }, "no one is left to notify")
    pair.scene.pass(600_000)
    #expect(pair.orders.isEmpty)
    #expect(try pair.ask(.targets) == .targets([]))
  }

  /// An id belongs to one target, whatever its owner is.
  @Test func aTargetChangesItsOwner() throws {
    var pair = try NotifiedPair()
    for owner in [PushTargetOwner.device, .person, .device] {
      try set(&pair, owner)
      guard case .targets(let listed)? = try pair.ask(.targets) else { return }
      #expect(listed.map(\.owner) == [owner])
    }
    // The user's target replaces that of every device.
    setByHost(&pair, .device)
    try set(&pair)
    let targets = pair.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.inboxes.targets ?? []
    }
    #expect(targets.map(\.device) == [.person])
  }

  @Test func tokensOfLiveActivitiesAndThePersonsIDAreRefused() throws {
    var pair = try NotifiedPair()
    let answer = try pair.ask(
      .setTarget(
        Self.target, kind: "apns",
        address: "apns://org.example.app/00?environment=production&purpose=live-activity",
        owner: .person))
    guard case .unusable? = answer else {
      Issue.record("\(String(describing: answer))")
      return
    }
    let connection = pair.scene.open()
    pair.scene.send(
      .pair(
        PairRequest(
          versions: ProtocolVersion.spoken, code: "BCDFGHJK", device: .person,
          deviceName: "nobody")), on: connection)
    #expect(
      pair.scene.take(connection).contains {
        if case .error(let fault) = $0 { fault.code == FaultCode.malformed.rawValue } else { false }
      })
  }

  // MARK: - Live statuses

  /// A user who looks at a device sees everything there that is displayed elsewhere.
  @Test func aVisibleDeviceGetsNoLiveStatus() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try look(&pair, true)
    try pair.report(.processing(operation: "a"))
    pair.scene.pass(20_000)
    try pair.report(.processing(operation: "b"))
    pair.scene.pass(20_000)
    #expect(pair.scene.liveOrders.isEmpty)
    try look(&pair, false)
    #expect(pair.scene.liveOrders.map(\.event) == [.started], "with the present state")
    #expect(pair.scene.liveOrders.last?.task.status == .processing(operation: "b"))
    try look(&pair, true)
    try pair.report(.processing(operation: "c"))
    pair.scene.pass(20_000)
    #expect(pair.scene.liveOrders.count == 1)
    try look(&pair, false)
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated])
    try look(&pair, true)
    try pair.report(.completed(.success(summary: nil)))
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated, .ended], "at once")
    try look(&pair, false)
    pair.scene.pass(20_000)
    #expect(pair.scene.liveOrders.count == 3)
  }

  @Test func withheldEventsAreSentThoughTheContentLeftMemory() throws {
    var pair = try NotifiedPair { $0.times.connectedIdleMilliseconds = 1_000 }
    try pair.addTarget()
    try look(&pair, true)
    try pair.report(.processing(operation: "a"))
    // The first one stores when the devices were connected, so that the workspace is not quiet.
    for _ in 0..<3 { pair.scene.pass(20_000) }
    #expect(pair.scene.core.workspaces[ServerScene.workspace]?.content == nil)
    try look(&pair, false)
    #expect(pair.scene.liveOrders.map(\.event) == [.started])
    #expect(pair.scene.liveOrders.last?.task.status == .processing(operation: "a"))
  }
}
