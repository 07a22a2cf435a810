@testable import SyncSimulation

extension Simulation {
  /// A world that stands still, for checkers that are told stories.
  static func twoDevices() -> Simulation {
    let simulation = Simulation(SimulationOptions(seed: 1, devices: 2), checkers: [])
    while simulation.devices.count < 2 { simulation.devices.add() }
    return simulation
  }
}
