import ClientCore
import QueueModel
import QueueOracle

/// What observers were told amounts to what is shown.
final class EventChecker: SimulationChecker {
  let name = "events"
  private var seen = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .changed(let index, let touched) = observation else { return [] }
    seen += 1
    // Comparing takes as long as the state is large; at rest it is done for everybody.
    let isQuick = simulation.options.hasQuickAgents
    guard isQuick || seen % 16 == 0 else { return [] }
    let isNarrow = isQuick && seen % 16 != 0
    return differences(simulation.devices[index], in: isNarrow ? touched.sessions : nil)
  }

  func settled(in simulation: Simulation) -> [String] {
    simulation.devices.flatMap { differences($0, in: nil) }
  }

  /// - Parameter sessions: whose queues are compared; everything where it is nil.
  private func differences(
    _ device: SimulatedDevice, in sessions: Set<SessionID>?
  ) -> [String] {
    device.tellObserver()
    guard let process = device.process else { return [] }
    let workspace = process.core.replica.workspace
    let found =
      sessions.map { process.mirror.differences(from: workspace, in: $0) }
      ?? process.mirror.differences(from: workspace)
    return found.prefix(2).map { "device \(device.index): \($0)" }
  }
}
