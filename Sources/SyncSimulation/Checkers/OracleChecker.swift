import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// The visible state equals the slow oracle's result for the plain set of operations, whether they
/// arrived as log entries or in joined states.
///
/// If a restored server gets an operation again, it may lower the stamp by a different clock than
/// the first time. Everything that depends on the stamp must then match one of the two. If a
/// memory was also copied, the server may log the other copy's content under an id. Then each part
/// must match either the first logged content or the last, because a device may have joined its
/// state before the two could be distinguished.
final class OracleChecker: SimulationChecker {
  let name = "oracle"
  /// Every operation that was ever logged, in order, even if the server has lost it since.
  private var logged: [Operation] = []
  private var known = VersionVector()
  /// Units that were logged with several stamps: each logged form, in order.
  private var lowered: [OperationID: [Operation]] = [:]
  /// For each unit with a stamp, the first and the last logged operation.
  private var stamped: [OperationID: Operation] = [:]
  /// Units logged since a memory was copied: their last logged form, and whether they had another
  /// content before.
  private var latest: [OperationID: Operation] = [:]
  private var relogged: Set<OperationID> = []
  private var hasMemoryClones = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    if case .memoryCloned = observation { hasMemoryClones = true }
    guard case .committed(let entries, _) = observation else { return [] }
    for entry in entries {
      guard let operations = try? PackedDelta.unpack(entry.content.bytes) else {
        return ["the delta at \(entry.prefix.position) cannot be read"]
      }
      // Operations that a restore lost and devices sent again arrive a second time.
      for operation in operations {
        noteStamps(of: operation)
        if hasMemoryClones { noteContents(of: operation) }
        let seen = Int(known[operation.id.replica]) - Int(operation.id.seq) + 1
        guard let fresh = operation.droppingFirst(max(0, seen)), let last = fresh.lastID else {
          continue
        }
        logged.append(fresh)
        known[last.replica] = last.seq
      }
    }
    return []
  }

  private func noteStamps(of operation: Operation) {
    guard operation.withoutStamp != operation else { return }
    for unit in operation.units {
      if let before = stamped.updateValue(unit, forKey: unit.id), before != unit {
        lowered[unit.id, default: [before]].append(unit)
      }
    }
  }

  private func noteContents(of operation: Operation) {
    for unit in operation.units {
      if let before = latest.updateValue(unit, forKey: unit.id), !before.isSame(as: unit) {
        relogged.insert(unit.id)
      }
    }
  }

  func settled(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    let kept = logged.compactMap { operation in
      operation.keepingFirst(
        Int(workspace.vector[operation.id.replica]) - Int(operation.id.seq) + 1)
    }
    let units = kept.reduce(0) { $0 + $1.length }
    // The oracle takes quadratic time for many insertions at one place.
    guard simulation.options.usesOracle, units < 60_000 else { return [] }
    var sets = [kept]
    if !relogged.isEmpty {
      sets.append(replaced(in: kept) { relogged.contains($0) ? latest[$0] : nil })
      // Operations that depend on the other content of an id may not have reached any device.
      sets = sets.filter(isWhole)
    }
    if !lowered.isEmpty {
      let choices: [([Operation]) -> Operation?] = [
        \.last,
        { $0.max { ($0.stamp ?? .zero) < ($1.stamp ?? .zero) } },
        { $0.min { ($0.stamp ?? .zero) < ($1.stamp ?? .zero) } },
      ]
      for set in sets {
        sets += choices.map { choice in
          replaced(in: set) { relogged.contains($0) ? nil : lowered[$0].flatMap(choice) }
        }
      }
    }
    guard let first = sets.first else { return [] }
    var found = differences(of: first, from: workspace)
    for others in sets.dropFirst() where !found.isEmpty {
      let places = Set(differences(of: others, from: workspace).map(place(of:)))
      found = found.filter { places.contains(place(of: $0)) }
    }
    return summary(found)
  }

  /// Whether none of the operations refers to an id with another content among them.
  private func isWhole(_ operations: [Operation]) -> Bool {
    var workspace = Workspace()
    return (try? workspace.merge(operations).dropped.isEmpty) ?? false
  }

  /// The operations, with some units replaced.
  private func replaced(
    in operations: [Operation], by unit: (OperationID) -> Operation?
  ) -> [Operation] {
    operations.flatMap { operation in
      let units = operation.units
      return units.contains { unit($0.id) != nil } ? units.map { unit($0.id) ?? $0 } : [operation]
    }
  }

  private func differences(of operations: [Operation], from workspace: Workspace) -> [String] {
    var oracle = SlowWorkspace()
    oracle.add(operations)
    return oracle.state().differences(from: workspace)
  }

  /// The part of the state that a difference concerns.
  private func place(of difference: String) -> String {
    guard let range = difference.firstRange(of: ": engine ") else { return difference }
    return String(difference[..<range.lowerBound])
  }

  private func summary(_ differences: [String]) -> [String] {
    differences.isEmpty ? [] : [differences.prefix(4).joined(separator: "; ")]
  }
}

/// The server stores each operation once, in the order of its author, and after all operations that
/// it names.
final class LogChecker: SimulationChecker {
  let name = "log"
  private var vector = VersionVector()
  private var head = LogPrefix.empty
  private var latestStamp = Stamp.zero

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server), .joined:
      let workspace = try? simulation.server.disk.storedWorkspace()
      vector = workspace?.vector ?? VersionVector()
      latestStamp = workspace?.latestStamp ?? .zero
      head = simulation.server.disk.durableHead
      return []
    case .committed(let entries, let wall):
      return entries.flatMap { take($0, wall) }
    default:
      return []
    }
  }

  private func take(_ entry: LogEntry, _ wall: Int64) -> [String] {
    var found: [String] = []
    let position = entry.prefix.position
    if position != head.position + 1 {
      found.append("log entry \(position) follows entry \(head.position)")
    }
    if head.position > 0, head.appending(entry.content.bytes) != entry.prefix {
      found.append("log entry \(position) breaks the chain")
    }
    head = entry.prefix
    guard let operations = try? PackedDelta.unpack(entry.content.bytes) else {
      return ["the delta at \(position) cannot be read"]
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
    return found + stampsAhead(in: operations, position, wall)
  }

  /// A stamp must not be so far ahead that it wins against all others for long. It is compared with
  /// the server's clock or, if that was set back, with the log.
  private func stampsAhead(
    in operations: [Operation], _ position: UInt64, _ wall: Int64
  ) -> [String] {
    let latest = operations.compactMap(\.stamp).max() ?? .zero
    let limit = max(
      wall + Limits.stampAheadMillisecondsMax,
      Stamp(rawValue: latestStamp.rawValue + UInt64(operations.count)).milliseconds)
    latestStamp = max(latestStamp, latest)
    guard latest.milliseconds > limit else { return [] }
    return ["log entry \(position) has a stamp that is \(latest.milliseconds - wall) ms ahead"]
  }
}
