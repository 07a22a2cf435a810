import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// What people see is what the base and the plain set of operations since amount to by the slow
/// oracle; and a base shows what there was before it.
final class OracleChecker: SimulationChecker {
  let name = "oracle"

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .compacted(let base) = observation, simulation.server.isTruthWhole,
      let fresh = simulation.server.storedBase
    else { return [] }
    let appends = simulation.server.truth.filter {
      $0.position > base?.position ?? 0 && $0.position <= fresh.position
    }
    guard let state = try? PackedSnapshot.unpack(fresh.bytes),
      let workspace = try? Workspace(image: state)
    else { return ["the base of an epoch cannot be read"] }
    return differences(of: workspace, from: base, appends, in: simulation)
      .map { "the base of an epoch: \($0)" }
  }

  func settled(in simulation: Simulation) -> [String] {
    guard simulation.server.isTruthWhole,
      let workspace = simulation.devices.first?.process?.core.replica.workspace
    else { return [] }
    return differences(
      of: workspace, from: simulation.server.storedBase, simulation.server.epochTruth,
      in: simulation)
  }

  private func differences(
    of workspace: Workspace, from base: StoredSnapshot?, _ appends: [LogAppend],
    in simulation: Simulation
  ) -> [String] {
    var operations: [Operation] = []
    for append in appends {
      guard let delta = try? PackedDelta.unpack(append.delta) else {
        return ["the delta at \(append.position) cannot be read"]
      }
      operations += delta
    }
    let units = operations.reduce(0) { $0 + $1.length }
    // The oracle is quadratic where many insert at one place.
    guard simulation.options.usesOracle, units < 60_000 else { return [] }
    var oracle = SlowWorkspace()
    if let base {
      guard let image = try? PackedSnapshot.unpack(base.bytes) else {
        return ["the base at \(base.position) cannot be read"]
      }
      oracle = SlowWorkspace(base: image)
    }
    oracle.add(operations)
    let state = oracle.state()
    var found = state.differences(from: workspace)
    if state.vector != workspace.vector { found.append("the oracle knows other operations") }
    return found.isEmpty ? [] : [found.prefix(4).joined(separator: "; ")]
  }
}

/// The server stores each operation once, in the order of its author, after all that it names.
final class LogChecker: SimulationChecker {
  let name = "log"
  private var vector = VersionVector()
  private var head: UInt64 = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server), .adopted:
      vector = VersionVector()
      for (replica, mark) in simulation.durableMarks { vector[replica] = mark.seq }
      head = simulation.storedHead
      return []
    case .committed(let appends, let wall):
      return appends.flatMap { take($0, wall) }
    default:
      return []
    }
  }

  private func take(_ append: LogAppend, _ wall: Int64) -> [String] {
    var found: [String] = []
    if append.position != head + 1 {
      found.append("log entry \(append.position) follows entry \(head)")
    }
    head = append.position
    guard let operations = try? PackedDelta.unpack(append.delta) else {
      return ["the delta at \(append.position) cannot be read"]
    }
    for operation in operations {
      let replica = operation.id.replica
      guard let last = operation.lastID else { continue }
      if operation.id.seq != vector[replica] + 1 {
        found.append(
          "operation \(operation.id) is stored after \(vector[replica]) of its replica")
      }
      vector[replica] = max(vector[replica], last.seq)
    }
    return found + stampsAhead(in: operations, append.position, wall)
  }

  /// No stamp may be so far ahead that it wins against everybody for long.
  private func stampsAhead(
    in operations: [Operation], _ position: UInt64, _ wall: Int64
  ) -> [String] {
    let latest = operations.compactMap { $0.stamp?.milliseconds }.max() ?? 0
    guard latest > wall + Limits.stampAheadMillisecondsMax else { return [] }
    return ["log entry \(position) has a stamp that is \(latest - wall) ms ahead"]
  }
}
