import ClientCore
import QueueModel
import QueueOracle

/// The changes that observers received add up to the visible state.
final class EventChecker: SimulationChecker {
  let name = "events"
  private var seen = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .changed(let index, let touched) = observation else { return [] }
    seen += 1
    // Comparing takes time proportional to the state; at rest, all devices are compared.
    let isQuick = simulation.options.hasQuickAgents
    guard isQuick || seen % 16 == 0 else { return [] }
    let isNarrow = isQuick && seen % 16 != 0
    return differences(simulation.devices[index], in: isNarrow ? touched.sessions : nil)
  }

  func settled(in simulation: Simulation) -> [String] {
    simulation.devices.flatMap { differences($0, in: nil) }
  }

  /// - Parameter sessions: the sessions whose queues are compared; nil compares everything.
  private func differences(
    _ device: SimulatedDevice, in sessions: Set<SessionID>?
  ) -> [String] {
    device.notifyObserver()
    guard let process = device.process else { return [] }
    let workspace = process.core.replica.workspace
    let found =
      sessions.map { process.mirror.differences(from: workspace, in: $0) }
      ?? process.mirror.differences(from: workspace)
    return found.prefix(2).map { "device \(device.index): \($0)" }
  }
}
