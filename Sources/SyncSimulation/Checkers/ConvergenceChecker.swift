import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// All devices and the server have the same state, in memory and in their stores.
final class ConvergenceChecker: SimulationChecker {
  let name = "convergence"

  func settled(in simulation: Simulation) -> [String] {
    if simulation.options.isAlone {
      return simulation.devices.flatMap { device in
        device.process.map { storeDifferences(device, $0) } ?? []
      }
    }
    let server: Workspace
    do {
      server = try simulation.server.disk.storedWorkspace()
    } catch {
      return ["the server cannot read its workspace: \(error)"]
    }
    let snapshot = PackedSnapshot.pack(server.image())
    let dump = server.dump()
    simulation.results.hash.add(snapshot)
    var found: [String] = []
    for device in simulation.devices {
      guard let process = device.process else { continue }
      let workspace = process.core.replica.workspace
      let waiting = workspace.pendingOperations
      if let first = waiting.first {
        found.append(
          "device \(device.index) still waits for operations: \(waiting.count), first \(first), "
            + "for \(workspace.missingRanges)")
      }
      if PackedSnapshot.pack(workspace.image()) != snapshot {
        found.append(
          "device \(device.index) and the server have different snapshots: "
            + Self.difference(workspace, server))
      } else if workspace.dump() != dump {
        found.append("device \(device.index) and the server have different dumps")
      }
      found += storeDifferences(device, process)
    }
    return found
  }

  /// The files contain the state in memory, so that a restart finds the same.
  private func storeDifferences(
    _ device: SimulatedDevice, _ process: SimulatedDevice.Process
  ) -> [String] {
    do {
      let stored = try process.store.files.workspace()
      let shown = process.core.replica.workspace
      var found: [String] = []
      if PackedSnapshot.pack(stored.image()) != PackedSnapshot.pack(shown.image()) {
        found.append(
          "the files and the memory of device \(device.index) differ: "
            + Self.difference(stored, shown))
      }
      if process.store.files.database.record != process.core.replica.record {
        found.append("the files of device \(device.index) hold a different record")
      }
      return found
    } catch {
      return ["the files of device \(device.index) cannot be read: \(error)"]
    }
  }

  /// The first differences between two workspaces, as text.
  static func difference(_ left: Workspace, _ right: Workspace) -> String {
    var parts: [String] = []
    let replicas = Set(left.vector.sorted.map(\.replica) + right.vector.sorted.map(\.replica))
    for replica in replicas.sorted() {
      if left.vector[replica] != right.vector[replica] {
        parts.append(
          "replica \(replica.rawValue) to \(left.vector[replica]) and \(right.vector[replica])")
      }
    }
    let (one, other) = (left.dump(), right.dump())
    if one.threads != other.threads { parts.append("other threads") }
    if one.sessions.map(\.session) != other.sessions.map(\.session) {
      parts.append("other sessions")
    } else {
      for (mine, theirs) in zip(one.sessions, other.sessions) where mine != theirs {
        parts.append("session \(mine.session): \(Self.difference(mine, theirs))")
      }
    }
    return parts.isEmpty ? "something invisible" : parts.prefix(6).joined(separator: ", ")
  }

  private static func difference(
    _ left: WorkspaceDump.Session, _ right: WorkspaceDump.Session
  ) -> String {
    if left.messages.map(\.id) != right.messages.map(\.id) {
      return "messages \(left.messages.map(\.id)) and \(right.messages.map(\.id))"
    }
    for (mine, theirs) in zip(left.messages, right.messages) where mine != theirs {
      return "message \(mine.id): \(mine) and \(theirs)"
    }
    return "other settings or cancelled messages"
  }
}
