import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Undos and redos of devices that were apart from the server, and what they come to there.
///
/// The server's state decides what starts. So an undo lets something start *by itself* if, at the moment in
/// which its operations come to the server, hosts would run something behind them that they would not have
/// run a moment before, or would run it sooner or first: at once, or in its turn without another word of
/// anybody. What others do to the session later is their word. What they did before it came, and the device
/// did not know of, is what it has to be careful about.
///
/// Left out is a session that the device had no reason to pause: another device has moved a message there
/// that the undo is about, and the device cannot hear of it.
struct ApartUndos {
  private struct Turn {
    var device: Int
    var command: Command
    /// What was made in its turn.
    var made: [OperationRange]
    /// What it is about, as far as the device knows.
    var sessions: Set<SessionID>

    func holds(_ id: OperationID) -> Bool {
      made.contains { $0.replica == id.replica && $0.first <= id.seq && id.seq <= $0.last }
    }
  }

  private var turns: [Turn] = []
  /// What the server has stored, while turns are on their way to it.
  private var stored: Workspace?

  mutating func note(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(let index, .command(let command), let before, let outcome)
    where command.turnsBack:
      guard let after = simulation.devices[index].process?.core.replica.workspace,
        simulation.people.isApart(simulation.devices[index])
      else { return [] }
      let turn = Turn(
        device: index, command: command, made: after.vector.ranges(since: before.vector),
        sessions: outcome.touched.sessions)
      if !turn.made.isEmpty { turns.append(turn) }
      if stored == nil { stored = try? simulation.server.disk.storedWorkspace() }
    case .committed(let entries, _):
      guard stored != nil else { return [] }
      return entries.flatMap { take((try? PackedDelta.unpack($0.content.bytes)) ?? []) }
    case .joined, .rolledBack(.server):
      // What was in it looks like what was not.
      stored = turns.isEmpty ? nil : try? simulation.server.disk.storedWorkspace()
    case .reauthored(let index):
      turns.removeAll { $0.device == index }
    case .memoryCloned:
      // An id may name two operations now.
      turns = []
      stored = nil
    default: break
    }
    return []
  }

  /// The server has stored operations, in this order.
  private mutating func take(_ operations: [Operation]) -> [String] {
    var found: [String] = []
    var rest = operations[...]
    while let first = rest.first {
      let turn = turns.first { $0.holds(first.id) }
      let count = rest.prefix { operation in
        turn?.holds(operation.id) ?? !turns.contains { $0.holds(operation.id) }
      }.count
      let next = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      if let turn {
        found += compare(next, of: turn)
      } else {
        _ = try? stored?.merge(next)
      }
    }
    return found
  }

  /// Looks behind each operation: a host may get them one by one.
  private mutating func compare(_ operations: [Operation], of turn: Turn) -> [String] {
    guard let before = stored else { return [] }
    var found: [String] = []
    var touched: Set<SessionID> = []
    for operation in operations {
      guard let outcome = try? stored?.merge([operation]), let after = stored else { return [] }
      touched.formUnion(outcome.touched.sessions.intersection(turn.sessions))
      guard found.isEmpty else { continue }
      found = HostTurns.started(in: touched.sorted(), from: before, to: after)
    }
    if let after = stored { found += lost(from: before, to: after) }
    return found.map {
      "\(turn.command) of device \(turn.device), which was apart: \($0) where it meets what others did"
    }
  }

  /// What agents have, and what they did, is there as before. Another text, or another place, is no loss: a
  /// change of a device that is apart merges with a start, undone or not.
  private func lost(from before: Workspace, to after: Workspace) -> [String] {
    before.sessions().flatMap { session in
      UndoChecker.messages(of: session.id, before).compactMap { message in
        guard message.run != nil else { return nil }
        guard after.session(session.id) != nil else { return "\(session.id) is gone" }
        guard let now = try? after.message(message.id) else { return "\(message.id) is gone" }
        return now.run == message.run && (now.status == .running || message.status != .running)
          ? nil : "\(message.id), which was tried, is \(now.status)"
      }
    }
  }
}

extension VersionVector {
  /// What this one has, and another had not.
  fileprivate func ranges(since old: VersionVector) -> [OperationRange] {
    sorted.compactMap { replica, seq in
      let known = old[replica]
      return known < seq ? OperationRange(replica: replica, first: known + 1, last: seq) : nil
    }
  }
}
