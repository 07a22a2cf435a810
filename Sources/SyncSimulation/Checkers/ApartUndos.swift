import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Checks undos and redos of devices that were apart from the server, by their effect at the
/// server.
///
/// The server's state decides what starts. An undo starts something *by itself* if hosts would run
/// something after its operations that they would not have run before, or would run it earlier: at
/// once, or in its turn without another command. The checker compares when the operations arrive at
/// the server. Later changes to the session by others do not count. Earlier changes that the device
/// did not know of count, because the device must allow for them.
///
/// A command also ends the open stretch of typing, with an edition. If an undo removes that edition
/// at once, a start in between is a start of the typed text, which counts as seen. In the end,
/// nothing may start that would not have started before the typing ended.
///
/// A session is left out if the device could not know of the reason to pause it: another device
/// moved a message of the undo there; or a message waited for a choice only because an edit by the
/// device, which the server did not have before, merged with another one. The edit and its undo
/// leave the message as it was without both.
struct ApartUndos {
  private struct Turn {
    var device: Int
    var command: Command
    /// The operations that the undo made.
    var made: [OperationRange]
    /// The edition among them that ended a stretch of typing, and that they remove.
    var typed: OperationID?
    /// The sessions that it affects, as far as the device knows.
    var sessions: Set<SessionID>
    /// The operations that the server lacked at that time.
    var unsent: [OperationRange]
    /// The server's state without all of them.
    var base: Workspace?

    func holds(_ id: OperationID) -> Bool { made.contains { $0.holds(id) } }
  }

  private var turns: [Turn] = []
  /// The server's stored state, while turns are on their way to it.
  private var stored: Workspace?

  mutating func note(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(let index, .command(let command), let before, let outcome)
    where command.turnsBack:
      guard let replica = simulation.devices[index].process?.core.replica,
        simulation.people.isApart(simulation.devices[index])
      else { return [] }
      let turn = Turn(
        device: index, command: command,
        made: replica.workspace.vector.ranges(since: before.vector),
        typed: outcome.operations.editionTakenBack,
        sessions: outcome.touched.sessions, unsent: replica.record.outbox.ranges)
      if !turn.made.isEmpty { turns.append(turn) }
      if stored == nil { stored = try? simulation.server.disk.storedWorkspace() }
    case .committed(let entries, _):
      guard stored != nil else { return [] }
      return entries.flatMap { take((try? PackedDelta.unpack($0.content.bytes)) ?? []) }
    case .joined, .rolledBack(.server):
      // Known and unknown operations can no longer be distinguished.
      stored = turns.isEmpty ? nil : try? simulation.server.disk.storedWorkspace()
    case .reauthored(let index):
      turns.removeAll { $0.device == index }
    case .memoryCloned:
      // An id may now name two operations.
      turns = []
      stored = nil
    default: break
    }
    return []
  }

  /// The server stored operations, in this order.
  private mutating func take(_ operations: [Operation]) -> [String] {
    for index in turns.indices where turns[index].base == nil {
      let unsent = turns[index].unsent
      guard operations.contains(where: { operation in unsent.contains { $0.holds(operation.id) } })
      else { continue }
      turns[index].base = stored
    }
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

  /// Compares after each operation, because a host may receive them one by one.
  ///
  /// - Parameter operations: those that the server stored at once.
  private mutating func compare(_ operations: [Operation], of turn: Turn) -> [String] {
    guard let before = stored else { return [] }
    var found: [String] = []
    var touched: Set<SessionID> = []
    var typed: Workspace?
    for operation in operations {
      guard let outcome = try? stored?.merge([operation]), let after = stored else { return [] }
      touched.formUnion(outcome.touched.sessions.intersection(turn.sessions))
      if operation.id == turn.typed { typed = after }
      guard found.isEmpty else { continue }
      found = HostTurns.started(in: touched.sorted(), from: before, to: after)
      if let typed, operation.id != operations.last?.id,
        HostTurns.started(in: touched.sorted(), from: typed, to: after).isEmpty
      {
        found = []
      }
      if let base = turn.base, merged(in: touched, before, notIn: base),
        HostTurns.started(in: touched.sorted(), from: base, to: after).isEmpty
      {
        found = []
      }
    }
    if let after = stored { found += lost(from: before, to: after) }
    return found.map {
      "\(turn.command) of device \(turn.device), which was offline: \($0) at the server"
    }
  }

  /// Whether a message is merged that was not merged before.
  private func merged(
    in sessions: Set<SessionID>, _ now: Workspace, notIn base: Workspace
  ) -> Bool {
    sessions.contains { session in
      UndoChecker.messages(of: session, now).contains { message in
        message.isMerged && (try? base.message(message.id))?.isMerged == false
      }
    }
  }

  /// Messages that agents have, and messages that ran, must stay. Another text or another place is
  /// no loss: a change by an offline device merges with a start, with or without an undo.
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

extension [Operation] {
  /// The edition that one of these operations adds and a later one clears.
  fileprivate var editionTakenBack: OperationID? {
    let cleared = Set(
      flatMap { operation -> [OperationID] in
        switch operation.body {
        case .addTag(_, .edition, let clears, _), .clearTags(_, .edition, let clears): clears
        default: []
        }
      })
    return first {
      if case .addTag(_, .edition, _, _) = $0.body { cleared.contains($0.id) } else { false }
    }?.id
  }
}

extension OperationRange {
  fileprivate func holds(_ id: OperationID) -> Bool {
    replica == id.replica && first <= id.seq && id.seq <= last
  }
}

extension VersionVector {
  /// The operations in this vector that another one lacks.
  fileprivate func ranges(since old: VersionVector) -> [OperationRange] {
    sorted.compactMap { replica, seq in
      let known = old[replica]
      return known < seq ? OperationRange(replica: replica, first: known + 1, last: seq) : nil
    }
  }
}
