import SyncSimulation
import Testing

@Suite struct SimulationTests {
  @Test func timeStartsAtZero() {
    #expect(Simulation(SimulationOptions(seed: 1, devices: 2)).now == 0)
  }
}
