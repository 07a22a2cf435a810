import QueueModel

/// The simulated world: devices, network and server under virtual time.
package final class Simulation {
  package let options: SimulationOptions
  /// Virtual milliseconds since the start.
  package private(set) var now: Int64 = 0
  package private(set) var violations: [Violation] = []

  package init(_ options: SimulationOptions) {
    self.options = options
  }
}
