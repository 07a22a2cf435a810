import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Every change that the server acknowledged would survive a crash of the server, and every
/// completed command of a device would survive a crash of the device.
final class DurabilityChecker: SimulationChecker {
  let name = "durability"

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .acknowledged(let index): acknowledged(simulation.devices[index], simulation)
    case .performed(let index, _, _, let outcome):
      performed(outcome.operations, simulation.devices[index])
    default: []
    }
  }

  private func acknowledged(_ device: SimulatedDevice, _ simulation: Simulation) -> [String] {
    // Acknowledgements of nodes are judged when they are sent: the store may lose commits later.
    guard simulation.nodes.count == 1 else { return [] }
    // Reports of an earlier server process do not count until this one has sent `welcome`.
    guard let core = device.process?.core, case .connected = core.condition,
      let pipe = device.process?.pipes.values.first(where: \.serverHolds),
      simulation.isServed(pipe)
    else { return [] }
    let prefix = core.replica.record.prefix
    let durable = simulation.server.disk.durableHead
    return prefix.position <= durable.position
      ? []
      : [
        "device \(device.index) counts on log entry \(prefix.position), and the server's disk holds "
          + "\(durable.position)"
      ]
  }

  private func performed(_ operations: [Operation], _ device: SimulatedDevice) -> [String] {
    guard let last = operations.last?.lastID, let store = device.process?.store else { return [] }
    return store.holdsDurably(last)
      ? [] : ["device \(device.index) answered, and \(last) is not on its disk"]
  }
}
