import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// No attempt at a message starts after a user learned that an earlier one stops, unless a user retried the
/// message later, or restored it later or without knowing of the stop.
///
/// A server whose store went back to before the attempt or the stop, or another server, cannot know
/// of it.
final class StopChecker: SimulationChecker {
  let name = "stopped"

  private var stops: [MessageID: AskedStop] = [:]
  private var lives = GrantLives()

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    lives.note(observation, in: simulation)
    switch observation {
    case .stopReported(let stop)
    where lives.life(of: stop.run, of: stop.attempt.message) == stop.serverRestores:
      stops[stop.attempt.message] = stop
    case .performed(_, .command(.retry(let message)), _, _):
      stops[message] = nil
    case .agentStarted(let device, let order):
      return check(order, on: simulation.devices[device], in: simulation)
    default:
      break
    }
    return []
  }

  private func check(
    _ order: StartOrder, on device: SimulatedDevice, in simulation: Simulation
  ) -> [String] {
    guard let stop = stops[order.message], order.attempt > stop.attempt.number,
      stop.serverRestores == simulation.server.disk.restores,
      let state = device.process?.core.replica.workspace.dispatchState(of: order.message),
      stop.tags.isSuperset(of: state.tags)
    else { return [] }
    return [
      "device \(device.index) starts attempt \(order.attempt) of \(order.message) after a user "
        + "learned that attempt \(stop.attempt.number) stops"
    ]
  }
}
