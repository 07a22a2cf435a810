import ClientCore
import QueueModel
import QueueOracle

/// What observers were told amounts to what is shown.
final class EventChecker: SimulationChecker {
  let name = "events"
  private var seen = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .changed(let index, _) = observation else { return [] }
    seen += 1
    // Comparing takes as long as the state is large; at rest it is done for everybody.
    guard seen % 16 == 0 else { return [] }
    return differences(simulation.devices[index])
  }

  func settled(in simulation: Simulation) -> [String] {
    simulation.devices.flatMap(differences)
  }

  private func differences(_ device: SimulatedDevice) -> [String] {
    guard let process = device.process else { return [] }
    let found = process.mirror.differences(from: process.core.replica.workspace)
    return found.prefix(2).map { "device \(device.index): \($0)" }
  }
}
