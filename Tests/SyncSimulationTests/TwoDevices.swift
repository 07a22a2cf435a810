@testable import SyncSimulation

extension Simulation {
  /// A world without events, for checkers that get invented ones.
  static func twoDevices() -> Simulation {
    let simulation = Simulation(SimulationOptions(seed: 1, devices: 2), checkers: [])
    while simulation.devices.count < 2 { simulation.devices.add() }
    return simulation
  }
}
