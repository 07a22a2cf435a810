import ClientCore
import DispatchAuthority
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncSimulation

/// What `AloneChecker` counts as two agents at once, and `TurnChecker` as a turn stopped without a
/// reason.
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

  private func takenOver(_ order: StartOrder) -> Observation {
    .intervened([
      Dispatch(
        message: order.message, session: order.session,
        holder: LeaseHolder(device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1)),
        token: order.token, attempt: order.attempt, request: 1, content: 1, milliseconds: 1,
        intervention: .takeOver)
    ])
  }

  @Test(arguments: [true, false]) func twoAgentsAtOnceAreFound(isTakenOver: Bool) {
    let checker = AloneChecker()
    let first = order(1)
    #expect(checker.noted(.agentStarted(device: 0, first), in: simulation) == [])
    works(first, on: 0)
    if isTakenOver { _ = checker.noted(takenOver(first), in: simulation) }
    let found = checker.noted(.agentStarted(device: 1, order(2)), in: simulation)
    #expect(found.count == (isTakenOver ? 0 : 1))
    let moved = checker.noted(
      .agentStarted(device: 1, order(1, in: .named("t"))), in: simulation)
    #expect(moved.count == (isTakenOver ? 0 : 1))
    #expect(
      checker.noted(.agentStarted(device: 1, order(3, in: .named("u"))), in: simulation) == [])
  }
}
