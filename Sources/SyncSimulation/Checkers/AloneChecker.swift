import ClientCore
import DispatchAuthority
import QueueModel

/// Agents of two devices never work for one session or one message at the same time, unless a user
/// took over the attempt of one of them. Its agent may then also begin after the takeover, if the
/// server's answer took long.
///
/// An attempt is not judged if the server cannot know of the earlier one: its store went back to
/// before that, or another server answers. Such attempts are counted separately, as in
/// `ExecutionChecker`. The server regards copies of a device as one store, and one copy ends an
/// attempt of another. So attempts of copied devices are not judged, either.
final class AloneChecker: SimulationChecker {
  let name = "alone"

  private struct Attempt: Hashable {
    var message: MessageID
    var number: UInt16
  }

  private var takenOver: Set<Attempt> = []
  private var lives = GrantLives()

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    lives.note(observation, in: simulation)
    switch observation {
    case .intervened(let dispatches):
      takenOver.formUnion(
        dispatches.filter { $0.intervention == .takeOver }.map {
          Attempt(message: $0.message, number: $0.attempt)
        })
      return []
    case .agentStarted(let device, let order):
      let attempt = Attempt(message: order.message, number: order.attempt)
      return takenOver.contains(attempt) ? [] : others(than: device, order, in: simulation)
    default:
      return []
    }
  }

  private func others(
    than index: Int, _ order: StartOrder, in simulation: Simulation
  ) -> [String] {
    let own = simulation.devices[index].files.device
    let copies = Dictionary(grouping: simulation.devices, by: \.files.device)
    let others = simulation.devices.filter {
      $0.files.device != own && copies[$0.files.device]?.count == 1
    }
    return others.flatMap { device in
      (device.process?.agents ?? [:]).values.compactMap { agent in
        let other = agent.order
        let attempt = Attempt(message: other.message, number: other.attempt)
        guard other.session == order.session || other.message == order.message,
          !takenOver.contains(attempt),
          lives.life(of: other) == lives.life(of: order)
        else { return nil }
        return "the agent of \(order.message) begins in \(order.session) on device \(index), while "
          + "device \(device.index) works on \(other.message) in \(other.session)"
      }
    }
  }
}
