/// A part of the simulated world; it shares the simulation with the others.
protocol SimulationPart: AnyObject {
  var simulation: Simulation { get }
}

extension SimulationPart {
  var options: SimulationOptions { simulation.options }
  var clock: VirtualClock { simulation.clock }
  var results: RunResults { simulation.results }
}
