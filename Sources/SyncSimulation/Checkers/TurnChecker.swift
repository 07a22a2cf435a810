import ClientCore
import DispatchAuthority
import QueueModel

/// No turn ends for want of a server: an agent is told to stop only where a person wants that, its session was
/// deleted, its program is to end, somebody took it over, or another store can have the session, since the
/// server's store went back in time or the device's files were copied or put back.
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
  /// How often the server's store had gone back in time when an attempt began.
  private var serverRestores: [Attempt: Int] = [:]
  private var hasCopies = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .intervened(let dispatches):
      intervened.formUnion(dispatches.map(Attempt.init))
    case .rolledBack(.device), .memoryCloned, .added:
      hasCopies = true
    case .agentStarted(_, let order):
      serverRestores[Attempt(order)] = simulation.server.disk.restores
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
    let attempt = Attempt(order)
    guard !hasCopies, !intervened.contains(attempt),
      serverRestores[attempt] == simulation.server.disk.restores,
      device.process?.core.isStoppedForLease(order.session) == true
    else { return [] }
    return [
      "device \(device.index) stops the agent of \(order.message) in \(order.session), which nobody wanted"
    ]
  }
}
