import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncSimulation

/// The findings of `NotificationChecker` and `PushChecker`, and a correct story beside them.
@Suite struct NotificationCheckerTests {
  private static let request = RequestID(high: 0xA5, low: 1)
  private let checker: NotificationChecker
  private let pushes: PushChecker
  private let simulation: Simulation

  /// Two devices: the first one's agent asks, and the second one shows the request. Users sometimes
  /// answer; this is the first world in which they do not.
  init() throws {
    (checker, pushes, simulation) = try #require(
      (1...20).lazy.map(NotificationCheckerTests.world).first { _, _, simulation in
        simulation.devices[1].process?.core.notifications.count == 1
      })
  }

  private static func world(
    _ seed: UInt64
  ) -> (NotificationChecker, PushChecker, Simulation) {
    var options = SimulationOptions(seed: seed, devices: 2)
    options.runsAgents = true
    options.raisesRequests = true
    let (checker, pushes) = (NotificationChecker(), PushChecker())
    let simulation = Simulation(options, checkers: [checker, pushes])
    simulation.quiescence.settle()
    let approval = ApprovalRequest(id: request, toolName: "shell", summary: "make")
    let steps: [Command] = [
      .send("text", as: 1, in: "s"),
      .reportTask(report(.processing(operation: nil))),
      .reportTask(report(.awaitingApproval(approval))),
    ]
    for command in steps { simulation.apply(.perform(device: 0, .command(command))) }
    simulation.quiescence.settle()
    return (checker, pushes, simulation)
  }

  private static func report(
    _ status: TaskStatus, _ outcome: AskOutcome? = nil
  ) -> TaskReport {
    TaskReport(
      session: .named("s"), status: status, milliseconds: VirtualClock.startOfTime, outcome: outcome
    )
  }

  private var standing: [DeviceNotification] {
    simulation.devices[1].process?.core.notifications ?? []
  }

  private func goOn() {
    let outcome = AskOutcome(request: NotificationCheckerTests.request, ending: .withdrawn)
    let report = NotificationCheckerTests.report(.processing(operation: nil), outcome)
    simulation.apply(.perform(device: 0, .command(.reportTask(report))))
    simulation.quiescence.settle()
  }

  @Test func shownAndWithdrawnNotificationsPass() {
    #expect(standing.count == 1 && simulation.devices[1].process?.screen.count == 1)
    #expect(checker.settled(in: simulation) == [])
    goOn()
    #expect(standing == [] && simulation.devices[1].process?.screen == [])
    #expect(checker.settled(in: simulation) == [])
    #expect(simulation.results.violations == [])
    #expect(simulation.results.execution.notifications.shown == 1)
  }

  @Test func notificationsThatStayOnTheScreenAreFound() throws {
    let name = try #require(standing.first).name
    goOn()
    simulation.devices[1].process?.screen.insert(name)
    #expect(checker.settled(in: simulation).count == 1)
  }

  @Test func repeatedNotificationsAreFound() throws {
    let notification = try #require(standing.first).notification
    let again = Observation.shown(device: 1, notification, isRemembered: true)
    #expect(checker.noted(again, in: simulation).count == 1)
  }

  @Test func notificationsOutOfOrderAreFound() throws {
    var notification = try #require(standing.first).notification
    notification.name.seq += 1
    let late = Observation.shown(device: 1, notification, isRemembered: true)
    #expect(checker.noted(late, in: simulation).count == 1)
  }

  @Test func missingNotificationsAreFound() throws {
    var changes = InboxChanges()
    let device = simulation.devices[1].files.device
    changes.posted = [
      StoredNotification(
        position: 2,
        name: try #require(standing.first).name.advanced(by: 1)
          ?? OperationID(replica: ReplicaID(rawValue: 1), seq: 1),
        event: .taskComplete(summary: nil), session: .named("s"), milliseconds: 0)
    ]
    changes.entries = [InboxEntry(device: device, position: 2)]
    #expect(checker.noted(.inboxesChanged(changes), in: simulation) == [])
    #expect(checker.settled(in: simulation).count == 1)
  }

  @Test func aRequestThatAQuietDeviceDoesNotShowIsFound() {
    let session = SessionID.named("s")
    let request = NotificationCheckerTests.request
    #expect(
      checker.noted(.looked(host: 0, device: 1, session, request), in: simulation) == [])
    let other = RequestID(high: 0xA5, low: 2)
    #expect(
      checker.noted(.looked(host: 0, device: 1, session, other), in: simulation).count == 1)
    #expect(simulation.results.execution.notifications.missedApprovals == 1)
  }

  @Test func pushesThatComeTwiceOrStayAreFound() throws {
    let kept = try #require(standing.first).notification
    let stored = StoredNotification(
      position: kept.position, name: kept.name,
      event: .approval(tool: "shell", summary: "make", details: nil), session: kept.session,
      request: kept.request, milliseconds: 0)
    func push(_ kind: PushOrder.Kind, _ number: Int64) -> [String] {
      let order = PushOrder(
        kind: kind, device: simulation.devices[1].files.device, notification: stored,
        showsDetails: false)
      return pushes.noted(
        .pushed(
          StoredPushOrder(number: number, workspace: ServerDisk.workspace, order: order)),
        in: simulation)
    }
    #expect(push(.retract, 1).count == 1, "it was never pushed")
    #expect(push(.alert, 2) == [])
    #expect(push(.alert, 2) == [], "the same order shows once")
    #expect(push(.alert, 3).count == 1)
  }

  @Test func aPushThatIsNotTakenBackIsFound() throws {
    let kept = try #require(standing.first).notification
    let stored = StoredNotification(
      position: kept.position, name: kept.name,
      event: .approval(tool: "shell", summary: "make", details: nil), session: kept.session,
      request: kept.request, milliseconds: 0)
    let order = PushOrder(
      kind: .alert, device: simulation.devices[1].files.device, notification: stored,
      showsDetails: false)
    let pushed = StoredPushOrder(
      number: 1, workspace: ServerDisk.workspace, order: order)
    #expect(pushes.noted(.pushed(pushed), in: simulation) == [])
    #expect(pushes.settled(in: simulation) == [])
    goOn()
    #expect(pushes.settled(in: simulation).count == 1)
  }

  /// The device is connected and does not answer, while the server's time continues.
  @Test func aPushThatDoesNotComeIsFound() throws {
    let name = try #require(standing.first).name.advanced(by: 1)
    let device = simulation.devices[1].files.device
    let late = StoredNotification(
      position: 99, name: try #require(name), event: .taskComplete(summary: nil),
      session: .named("s"), milliseconds: 0)
    func put(isPushed: Bool) {
      simulation.server.disk.storage.withState { state in
        let workspace = ServerDisk.workspace
        state.workspaces[workspace]?.inboxes.notifications = [late]
        state.workspaces[workspace]?.inboxes.entries = [
          InboxEntry(device: device, position: 99, isPushed: isPushed)
        ]
      }
    }
    func found(after milliseconds: Int64) -> Int {
      simulation.advance(milliseconds: milliseconds)
      return simulation.results.violations.count
    }
    put(isPushed: true)
    #expect(found(after: 70_000) == 0)
    put(isPushed: false)
    #expect(found(after: 50_000) == 0)
    // A push that is stored but cannot be read or written is not late.
    simulation.apply(.setServerStore(.full))
    #expect(found(after: 1_000) == 0)
    simulation.apply(.setServerStore(.working))
    #expect(found(after: 50_000) == 0)
    #expect(found(after: 20_000) > 0)
    #expect(Set(simulation.results.violations.map(\.checker)) == ["push"])
  }
}
