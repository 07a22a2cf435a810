import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore

/// A compaction drops what nobody needs any longer, and nothing else: it waits for devices that have
/// not seen everything, unless somebody wants it at once; and afterwards neither the server's log
/// nor a device's, nor what is dead in the state, is more than what came since.
final class CompactionChecker: SimulationChecker {
  let name = "compaction"
  /// Somebody asked for one that does not wait.
  private var isForced = false
  /// The base is what a compaction made; one taken over from a device is not.
  private var isBaseCompacted = false
  /// Copies of a device share its name, and with it what the server knows it to have seen.
  private var hasCopies = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .compactionRequested: isForced = true
    case .adopted: isBaseCompacted = false
    case .added: hasCopies = true
    case .rolledBack(.device): hasCopies = true
    case .rolledBack(.server):
      isBaseCompacted = false
    case .serverReport(.epochStarted):
      let wasForced = isForced
      isForced = false
      isBaseCompacted = true
      return wasForced || hasCopies ? [] : devicesBehind(in: simulation)
    default: break
    }
    return []
  }

  /// Every device that was there in the last weeks must have all of the base. The virtual world is
  /// younger than that, so that counts all that ever connected.
  private func devicesBehind(in simulation: Simulation) -> [String] {
    guard let tables = simulation.serverTables else { return [] }
    let floor = tables.floor
    var found: [String] = []
    for device in simulation.devices {
      guard tables.devices[device.currentFiles.device]?.lastSeenAt != nil,
        let workspace = try? device.workspace(), !workspace.vector.includes(floor)
      else { continue }
      found.append(
        "the log is dropped up to \(floor.sorted), of which device \(device.index) knows "
          + "\(workspace.vector.sorted)")
    }
    return found
  }

  func settled(in simulation: Simulation) -> [String] {
    guard let tables = simulation.serverTables else { return [] }
    var found: [String] = []
    let base = tables.base?.position ?? 0
    if let first = tables.log.first, first.position <= base {
      found.append("the server's log still holds entry \(first.position) of its base \(base)")
    }
    let logged = tables.replicas.values.reduce(0) { $0 + Int($1.seq) - Int($1.baseSeq) }
    if isBaseCompacted, let weight = try? simulation.serverWorkspace().deadWeight,
      weight.dead > logged
    {
      found.append(
        "\(weight.dead) of \(weight.total) units are dead, and \(logged) came since the "
          + "compaction")
    }
    return found + simulation.devices.flatMap(needlessEntries)
  }

  /// What the base of a device stands for needs no place in its log.
  private func needlessEntries(_ device: SimulatedDevice) -> [String] {
    guard let process = device.process else { return [] }
    let floor = process.core.replica.record.floor
    let needless = process.store.files.database.entries.count { entry in
      !entry.ranges.isEmpty && entry.ranges.allSatisfy { $0.last <= floor[$0.replica] }
    }
    return needless == 0
      ? [] : ["the log of device \(device.index) keeps \(needless) entries that its base holds"]
  }
}

extension Simulation {
  /// The server's rows of the workspace, whatever its disk does now.
  var serverTables: MemoryStorage.Tables? {
    server.storage.withState { $0.workspaces[SimulatedServer.workspace] }
  }
}

extension MemoryStorage.Tables {
  /// What the base holds.
  fileprivate var floor: VersionVector {
    var floor = VersionVector()
    for (replica, mark) in replicas where mark.baseSeq > 0 { floor[replica] = mark.baseSeq }
    return floor
  }
}
