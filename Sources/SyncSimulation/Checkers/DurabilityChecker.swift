import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore

/// What the server acknowledged would survive its crash, and what a device answered "done" to
/// would survive the device's.
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
    // What an earlier life of the server said counts no longer until it has said welcome.
    guard let core = device.process?.core, case .connected = core.condition,
      let pipe = device.process?.pipes.values.first(where: \.serverHolds),
      pipe.serverLife == simulation.server.life
    else { return [] }
    let marks = simulation.durableMarks
    var found: [String] = []
    for replica in core.replica.record.ownReplicas.sorted() {
      let acknowledged = core.replica.record.acknowledged[replica]
      let durable = marks[replica]?.seq ?? 0
      if acknowledged > durable {
        found.append(
          "device \(device.index) counts on operation \(acknowledged) of replica "
            + "\(replica.rawValue), of which the server's disk holds \(durable)")
      }
    }
    return found
  }

  private func performed(_ operations: [Operation], _ device: SimulatedDevice) -> [String] {
    guard let last = operations.last?.lastID, let store = device.process?.store else { return [] }
    return store.holdsDurably(last)
      ? [] : ["device \(device.index) answered, and \(last) is not on its disk"]
  }
}
