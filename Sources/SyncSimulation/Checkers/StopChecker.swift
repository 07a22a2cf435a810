import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// No attempt at a message starts after a user learned that an earlier one stops, unless a user
/// retried the message later, or restored it later or without knowing of the stop. No approval that
/// a user gives after the stop of an attempt was stored reaches its agent.
///
/// A server whose store went back to before the attempt or the stop, or another server, cannot know
/// of it. The server regards several copies of a host as one, so these are not judged.
final class StopChecker: SimulationChecker {
  let name = "stopped"

  private struct Attempt: Hashable {
    var message: MessageID
    var number: UInt16
    var token: UInt64
  }

  private var stops: [MessageID: AskedStop] = [:]
  private var lives = GrantLives()
  /// Attempts whose stop is stored, with the number of times the server's store went back before.
  private var stopped: [Attempt: Int] = [:]
  /// The attempts whose agents made requests.
  private var askers: [RequestID: Attempt] = [:]
  /// The devices whose users approved a request, and whether one of them did so before the stop.
  private var isInTime: [RequestID: [DeviceID: Bool]] = [:]

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    lives.note(observation, in: simulation)
    note(observation, in: simulation)
    switch observation {
    case .stopReported(let stop)
    where lives.life(of: stop.run, of: stop.attempt.message) == stop.serverRestores:
      stops[stop.attempt.message] = stop
    case .performed(_, .command(.retry(let message)), _, _):
      stops[message] = nil
    case .agentStarted(let device, let order):
      return check(order, on: simulation.devices[device], in: simulation)
    case .decided(let device, let request, let decision) where decision.ending == .allowed:
      guard let person = decision.device, isInTime[request]?[person] == false,
        isStopped(request, in: simulation)
      else { return [] }
      return [
        "the agent of \(request) on device \(device) may do what a user approved after its stop"
      ]
    default:
      break
    }
    return []
  }

  private func note(_ observation: Observation, in simulation: Simulation) {
    switch observation {
    case .intervened(let dispatches):
      for stop in dispatches where stop.intervention == .stop {
        let attempt = Attempt(message: stop.message, number: stop.attempt, token: stop.token)
        stopped[attempt] = simulation.server.disk.restores
      }
    case .raised(let device, _, let request):
      let agents = simulation.devices[device].process?.agents ?? [:]
      guard let order = agents.values.first(where: { $0.requests[request] != nil })?.order else {
        return
      }
      askers[request] = Attempt(
        message: order.message, number: order.attempt, token: order.token)
    case .allowed(let index, let request, _):
      let device = simulation.devices[index].currentFiles.device
      let isEarlier = isInTime[request]?[device] == true
      isInTime[request, default: [:]][device] = isEarlier || !isStopped(request, in: simulation)
    default:
      break
    }
  }

  /// Whether the server must know that the attempt of a request's agent stops.
  private func isStopped(_ request: RequestID, in simulation: Simulation) -> Bool {
    askers[request].flatMap { stopped[$0] } == simulation.server.disk.restores
  }

  private func check(
    _ order: StartOrder, on device: SimulatedDevice, in simulation: Simulation
  ) -> [String] {
    guard let stop = stops[order.message], order.attempt > stop.attempt.number,
      stop.serverRestores == simulation.server.disk.restores,
      simulation.devices.copies(of: device).count == 1,
      let state = device.process?.core.replica.workspace.dispatchState(of: order.message),
      stop.tags.isSuperset(of: state.tags)
    else { return [] }
    return [
      "device \(device.index) starts attempt \(order.attempt) of \(order.message) after a user "
        + "learned that attempt \(stop.attempt.number) stops"
    ]
  }
}
