import ClientCore
import DispatchAuthority
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncSimulation

/// What `AloneChecker` counts as two agents at once, `StopChecker` as a start or an approval after a
/// stop, and `UndoChecker` as an agent that lost its session.
@Suite struct TurnCheckerTests {
  private let simulation = Simulation.twoDevices()
  private static let session = SessionID.named("s")

  private func order(_ number: UInt64, in session: SessionID = session) -> StartOrder {
    StartOrder(
      session: session, message: .numbered(number), attempt: 1, token: number, text: "text")
  }

  private func works(_ order: StartOrder, on device: Int) {
    simulation.devices[device].process?.agents[order.session] = SimulatedDevice.Agent(
      order: order, endsAt: 1_000)
  }

  private func intervened(_ order: StartOrder, _ intervention: Intervention) -> Observation {
    .intervened([
      Dispatch(
        message: order.message, session: order.session,
        holder: LeaseHolder(device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1)),
        token: order.token, attempt: order.attempt, request: 1, content: 1, milliseconds: 1,
        intervention: intervention)
    ])
  }

  @Test(arguments: [true, false]) func twoAgentsAtOnceAreFound(isTakenOver: Bool) {
    let checker = AloneChecker()
    let first = order(1)
    #expect(checker.noted(.agentStarted(device: 0, first), in: simulation) == [])
    works(first, on: 0)
    if isTakenOver { _ = checker.noted(intervened(first, .takeOver), in: simulation) }
    let found = checker.noted(.agentStarted(device: 1, order(2)), in: simulation)
    #expect(found.count == (isTakenOver ? 0 : 1))
    let moved = checker.noted(
      .agentStarted(device: 1, order(1, in: .named("t"))), in: simulation)
    #expect(moved.count == (isTakenOver ? 0 : 1))
    #expect(
      checker.noted(.agentStarted(device: 1, order(3, in: .named("u"))), in: simulation) == [])
  }

  /// The server granted an attempt, and its answer took so long that somebody took the attempt over.
  @Test func aLateBeginningIsNotASecondAgent() {
    let checker = AloneChecker()
    let first = order(1)
    _ = checker.noted(intervened(order(2), .takeOver), in: simulation)
    _ = checker.noted(.agentStarted(device: 0, first), in: simulation)
    works(first, on: 0)
    #expect(checker.noted(.agentStarted(device: 1, order(2)), in: simulation) == [])
  }

  private func granted(_ order: StartOrder) -> Observation {
    .granted([
      Dispatch(
        message: order.message, session: order.session,
        holder: LeaseHolder(device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1)),
        token: order.token, attempt: order.attempt, request: 1, content: 1, milliseconds: 1)
    ])
  }

  /// The server's store goes back while the answer is on its way.
  @Test func turnsThatTheServerForgotAreOfAnEarlierLife() {
    var lives = GrantLives()
    lives.note(granted(order(1)), in: simulation)
    let disk = simulation.server.disk
    disk.restore(disk.backup())
    lives.note(.agentStarted(device: 0, order(1)), in: simulation)
    lives.note(.agentStarted(device: 0, order(2)), in: simulation)
    #expect(lives.life(of: order(1)) == 0)
    #expect(lives.life(of: order(2)) == 1)
  }

  @Test(arguments: [true, false]) func aStartAfterAStopIsFound(isForgotten: Bool) throws {
    let checker = StopChecker()
    let first = order(1)
    simulation.clients.tell(simulation.devices[1]) { core, context, store in
      (try? core.commandGiven(.send("text", as: 1, in: "s"), at: context, store: store).actions)
        ?? []
    }
    _ = checker.noted(.agentStarted(device: 0, first), in: simulation)
    if isForgotten {
      let disk = simulation.server.disk
      disk.restore(disk.backup())
    }
    let workspace = try #require(simulation.devices[1].process?.core.replica.workspace)
    _ = checker.noted(
      .stopReported(
        AskedStop(
          attempt: AttemptName(message: first.message, number: 1),
          run: first.run(.running, milliseconds: 1, note: ""),
          tags: Set(workspace.dispatchState(of: first.message)?.tags ?? []),
          serverRestores: simulation.server.disk.restores)), in: simulation)
    var second = first
    second.attempt = 2
    let found = checker.noted(.agentStarted(device: 1, second), in: simulation)
    #expect(found.count == (isForgotten ? 0 : 1))
  }

  @Test(arguments: [true, false]) func anApprovalAfterTheStopIsFound(isInTime: Bool) {
    let checker = StopChecker()
    let request = RequestID(high: 0xA5, low: 1)
    var agent = SimulatedDevice.Agent(order: order(1), endsAt: 1_000)
    agent.requests[request] = true
    simulation.devices[0].process?.agents[Self.session] = agent
    let allowed = Observation.allowed(device: 1, request, shown: nil)
    _ = checker.noted(.raised(device: 0, life: 0, request), in: simulation)
    if isInTime { _ = checker.noted(allowed, in: simulation) }
    _ = checker.noted(intervened(order(1), .stop), in: simulation)
    _ = checker.noted(allowed, in: simulation)
    let person = simulation.devices[1].currentFiles.device
    let found = checker.noted(
      .decided(device: 0, request, AskAnswer(ending: .allowed, device: person)), in: simulation)
    #expect(found.count == (isInTime ? 0 : 1))
  }
}
