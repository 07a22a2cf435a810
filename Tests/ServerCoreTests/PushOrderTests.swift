import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

/// When something is pushed and retracted, and to which targets.
@Suite struct PushOrderTests {
  // MARK: - Requests end

  @Test func requestThatIsNotAwaitedAnyMoreLeavesTheInbox() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.entries.count == 1)
    try pair.report(NotifiedPair.working)
    #expect(pair.entries.isEmpty)
    #expect(try pair.phoneReturns().isEmpty)
  }

  @Test func pushedRequestIsTakenBackEvenAfterTheDeviceHadIt() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.orders.map(\.kind) == [.alert])
    #expect(pair.scene.pushWakes == 1)
    #expect(try pair.phoneReturns().count == 1)
    pair.acknowledge(1)
    #expect(pair.entries.map(\.isAcknowledged) == [true], "kept, so that it can be withdrawn")
    pair.phoneLeaves()
    #expect(try pair.phoneReturns().isEmpty)
    pair.scene.restart(ServerConfiguration())
    pair.hostConnection = pair.scene.connect(pair.host)
    try pair.report(NotifiedPair.working)
    #expect(pair.orders.map(\.kind) == [.alert, .retract])
    #expect(pair.orders.last?.notification.request == RequestID(high: 5, low: 1))
    #expect(pair.entries.isEmpty)
  }

  // MARK: - Push

  @Test func awayDeviceIsPushedToAtOnceWithTheCommit() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1, expires: NotifiedPair.wall + 5))
    let order = try #require(pair.orders.first)
    #expect(order.kind == .alert)
    #expect(order.device == pair.phone.id)
    #expect(!order.showsDetails)
    #expect(order.notification.expiresAt == NotifiedPair.wall + 5)
    #expect(
      order.notification.event
        == .approval(tool: "Bash", summary: "swift test", details: "all of them"))
    #expect(pair.orders.count == 1)
    pair.scene.pass(60_000)
    #expect(pair.orders.count == 1)
  }

  @Test func deviceWithoutTargetsIsNotPushedTo() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(60_000)
    #expect(pair.orders.isEmpty)
  }

  @Test func tokensOfLiveActivitiesTakeNoNotices() throws {
    var pair = try NotifiedPair()
    _ = try pair.ask(
      .setTarget(
        PushTargetID(high: 2, low: 1), kind: "apns",
        address: "apns://org.example.app/00?environment=production&purpose=live-activity-start"))
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(60_000)
    #expect(pair.orders.isEmpty)
    #expect(pair.entries.map(\.isPushed) == [false])
  }

  @Test func connectedDeviceHasTenSecondsToAnswer() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(9_999)
    #expect(pair.orders.isEmpty)
    pair.scene.pass(1)
    #expect(pair.orders.map(\.kind) == [.alert])
    try pair.report(NotifiedPair.working, .completed(.success(summary: "s")))
    _ = pair.received()
    pair.acknowledge(2)
    pair.scene.pass(60_000)
    #expect(pair.orders.count == 2, "the request was withdrawn, the rest was answered")
    #expect(pair.orders.last?.kind == .retract)
  }

  @Test func visibleDeviceIsNotPushedToUntilItIsNotVisible() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    #expect(try pair.ask(.visibility(true)) == .done)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(60_000)
    #expect(pair.orders.isEmpty)
    #expect(try pair.ask(.visibility(false)) == .done)
    pair.scene.pass(1)
    #expect(pair.orders.count == 1)
  }

  @Test func visibilityEndsWithItsConnection() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    #expect(try pair.ask(.visibility(true)) == .done)
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(1)
    pair.phoneLeaves()
    pair.scene.pass(1)
    #expect(pair.orders.count == 1)
  }

  @Test func deviceThatLeavesWithoutAnsweringIsPushedToAtOnce() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.pass(1)
    #expect(pair.orders.isEmpty)
    pair.phoneLeaves()
    pair.scene.pass(1)
    #expect(pair.orders.count == 1)
  }

  @Test func restartedServerPushesUnansweredRequests() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.orders.isEmpty)
    pair.scene.restart(ServerConfiguration())
    pair.scene.pass(1)
    pair.scene.pass(9_000)
    #expect(pair.orders.isEmpty, "devices have time to reconnect")
    pair.scene.pass(2_000)
    #expect(pair.orders.count == 1, "although no device connects")
  }

  @Test func detailsAreShownToThoseWhoWantThem() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    let answer = try pair.ask(.setPreferences(NotificationPreferences(showsDetails: true)))
    #expect(answer == .done)
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.orders.map(\.showsDetails) == [true])
  }

  // MARK: - Targets

  @Test func targetsAreSetShownRotatedAndRemoved() throws {
    var pair = try NotifiedPair()
    try pair.addTarget(1)
    try pair.addTarget(2)
    guard case .targets(let targets)? = try pair.ask(.targets) else {
      Issue.record("no targets")
      return
    }
    #expect(targets.map(\.id.low) == [1, 2])
    #expect(targets.allSatisfy { $0.isValid && !$0.address.contains("https") })
    let used = PushTargetRecord(
      device: pair.phone.id, id: PushTargetID(high: 8, low: 1), kind: "", address: "",
      shownAddress: "", registeredAt: pair.scene.now.wallMilliseconds)
    func report(_ isValid: Bool, _ reason: String, deliveredAt: Int64? = nil) {
      pair.scene.run(
        pair.scene.core.pushTargetReported(
          PushTargetReport(
            workspace: ServerScene.workspace, target: used, isValid: isValid, reason: reason,
            deliveredAt: deliveredAt), at: pair.scene.now))
    }
    report(true, "", deliveredAt: 77)
    report(false, "BadDeviceToken")
    guard case .targets(let known)? = try pair.ask(.targets) else { return }
    #expect(known.map(\.isValid) == [false, true])
    #expect(known.map(\.reason) == ["BadDeviceToken", ""])
    #expect(known.map(\.deliveredAt) == [77, nil], "the last success stays known")
    pair.scene.now.wallMilliseconds += 1
    try pair.addTarget(1)
    report(false, "Unregistered")
    guard case .targets(let fresh)? = try pair.ask(.targets) else { return }
    #expect(fresh.map(\.isValid) == [true, true], "an earlier registration is not affected")
    #expect(try pair.ask(.removeTarget(PushTargetID(high: 8, low: 1))) == .done)
    pair.scene.restart(ServerConfiguration())
    _ = try pair.phoneReturns()
    guard case .targets(let left)? = try pair.ask(.targets) else { return }
    #expect(left.map(\.id.low) == [2])
  }

  @Test func ninthTargetAndUnknownKindAreRefusedWithAReason() throws {
    var pair = try NotifiedPair()
    for number in 1...8 { try pair.addTarget(UInt64(number)) }
    let ninth = InboxRequest.setTarget(
      PushTargetID(high: 8, low: 9), kind: "ntfy", address: "https://n.example/t")
    guard case .unusable(let reason)? = try pair.ask(ninth) else {
      Issue.record("a ninth target was accepted")
      return
    }
    #expect(reason.contains("8"))
    let other = InboxRequest.setTarget(
      PushTargetID(high: 8, low: 1), kind: "pigeon", address: "loft")
    guard case .unusable? = try pair.ask(other) else {
      Issue.record("an unknown kind was accepted")
      return
    }
    try pair.addTarget(8)
  }

  @Test func bytesAreReadUnchanged() throws {
    var pair = try NotifiedPair()
    let bytes = (0..<WireLimits.echoBytesMax).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try pair.ask(.echo(bytes)) == .echo(bytes))
  }

  @Test func testOfATargetIsAnsweredByItsProvider() throws {
    var pair = try NotifiedPair()
    try pair.addTarget(1)
    let request = InboxRequest.testTarget(PushTargetID(high: 8, low: 1))
    #expect(try pair.ask(request, id: 20) == nil, "the provider was not asked yet")
    #expect(pair.scene.tests.map { $0.target.low } == [1])
    // One at a time.
    #expect(try pair.ask(request, id: 21) == .unavailable)
    func answers() throws -> [InboxAnswer] {
      try pair.scene.take(pair.phoneConnection).compactMap { frame in
        guard case .response(let response) = frame, response.id == 20 else { return nil }
        return try InboxAnswer(response, to: request)
      }
    }
    func answer(_ problem: String?) {
      pair.scene.run(
        pair.scene.core.pushTested(
          for: pair.phoneConnection, problem: problem, at: pair.scene.now))
    }
    func deliveredAt() throws -> [Int64?] {
      guard case .targets(let targets)? = try pair.ask(.targets) else { return [] }
      return targets.map(\.deliveredAt)
    }
    answer("410 Gone")
    // Asking also takes the connection's other frames.
    #expect(try answers() == [.unusable("410 Gone")])
    #expect(try deliveredAt() == [nil])
    #expect(try pair.ask(request, id: 20) == nil)
    answer(nil)
    #expect(try answers() == [.done])
    #expect(try deliveredAt() == [pair.scene.now.wallMilliseconds])
    guard case .unusable? = try pair.ask(.testTarget(PushTargetID(high: 8, low: 2))) else {
      Issue.record("an unknown target was tested")
      return
    }
    // A test whose connection has ended reports to no device.
    #expect(try pair.ask(request, id: 22) == nil)
    pair.phoneLeaves()
    answer(nil)
  }

  @Test func answersToRequestsWaitForTheStore() throws {
    var pair = try NotifiedPair()
    pair.scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    let answer = try pair.ask(.setPreferences(NotificationPreferences(showsDetails: true)))
    #expect(answer == .unavailable)
  }
}
