import ClientCore
import DispatchAuthority
import QueueModel

/// No turn ends merely because there is no server. An agent is stopped only for one of these
/// reasons: a user wants that; its session was deleted; its program must end; a user took the turn
/// over; or another store can get the session, because the server's store went back in time, or the
/// device's files were copied or restored.
final class TurnChecker: SimulationChecker {
  let name = "turnsGoOn"

  private struct Attempt: Hashable {
    var message: MessageID
    var number: UInt16

    init(_ order: StartOrder) {
      message = order.message
      number = order.attempt
    }

    init(_ dispatch: Dispatch) {
      message = dispatch.message
      number = dispatch.attempt
    }
  }

  private var intervened: Set<Attempt> = []
  private var lives = GrantLives()
  private var hasCopies = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    lives.note(observation, in: simulation)
    switch observation {
    case .intervened(let dispatches):
      intervened.formUnion(dispatches.map(Attempt.init))
    case .rolledBack(.device), .memoryCloned, .added:
      hasCopies = true
    case .agentStopped(let device, let order):
      return check(order, on: simulation.devices[device], in: simulation)
    default:
      break
    }
    return []
  }

  private func check(
    _ order: StartOrder, on device: SimulatedDevice, in simulation: Simulation
  ) -> [String] {
    guard !hasCopies, !intervened.contains(Attempt(order)),
      lives.life(of: order) == simulation.server.disk.restores,
      device.process?.core.isStoppedForLease(order.session) == true
    else { return [] }
    return [
      "device \(device.index) stops the agent of \(order.message) in \(order.session) without a reason"
    ]
  }
}
