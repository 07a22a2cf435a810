/// A part of the simulated world: what it shares with the others is the simulation's.
protocol SimulationPart: AnyObject {
  var simulation: Simulation { get }
}

extension SimulationPart {
  var options: SimulationOptions { simulation.options }
  var clock: VirtualClock { simulation.clock }
  var results: RunResults { simulation.results }
}
