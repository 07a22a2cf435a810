import ClientCore
import QueueModel
import SequenceCRDT

/// No state contradicts itself, and no device forgets operations that were on its disk.
final class InvariantChecker: SimulationChecker {
  let name = "invariants"
  /// The operations that each device has known since its files last went back in time.
  private var known: [Int: VersionVector] = [:]
  private var replicas: [Int: Set<ReplicaID>] = [:]
  private var seen = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.device(let index)), .lostCommits(let index):
      known[index] = nil
      return []
    case .started(let index), .advanced(let index), .performed(let index, _, _, _):
      seen += 1
      // Checking everything takes time that grows with the state.
      let deeply = simulation.options.usesOracle && seen % 32 == 0
      return check(simulation.devices[index], deeply: deeply)
    case .reauthored(let index):
      // Operations that get new ids disappear under their old ones.
      let workspace = simulation.devices[index].process?.core.replica.workspace
      known[index] = workspace?.vector
      return []
    default:
      return []
    }
  }

  func settled(in simulation: Simulation) -> [String] {
    simulation.devices.flatMap { check($0, deeply: true) }
  }

  private func check(_ device: SimulatedDevice, deeply: Bool) -> [String] {
    guard let replica = device.process?.core.replica else { return [] }
    var found: [String] = []
    let before = known[device.index] ?? VersionVector()
    if !replica.workspace.vector.includes(before) {
      found.append(
        "device \(device.index) forgot operations: it knew \(before.sorted), "
          + "and knows \(replica.workspace.vector.sorted)")
    }
    known[device.index] = replica.workspace.vector
    guard deeply else { return found }
    do {
      try replica.workspace.checkInvariants()
    } catch {
      found.append("device \(device.index): \(error)")
    }
    return found
  }
}
