import ClientCore
import QueueModel
import QueueOracle

/// No turn starts, stops or is repeated by an undo or a redo alone, and none takes history away.
final class UndoChecker: SimulationChecker {
  let name = "undo"

  /// Sessions that an undo or a redo took away, and no person since.
  private var takenAway: Set<SessionID> = []

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(_, .command(.deleteSession(let session)), _, _),
      .interrupted(_, .command(.deleteSession(let session)), _, _):
      takenAway.remove(session)
    case .performed(let index, .command(let command), let before, _) where command.turnsBack:
      guard let after = simulation.devices[index].process?.core.replica.workspace else { break }
      for session in before.sessions() where after.session(session.id) == nil {
        takenAway.insert(session.id)
      }
      return (started(from: before, to: after) + lost(from: before, to: after)).map {
        "device \(index), \(command): \($0)"
      }
    case .agentStopped(let index, let order):
      guard takenAway.contains(order.session),
        let workspace = simulation.devices[index].process?.core.replica.workspace,
        workspace.session(order.session) == nil
      else { break }
      return ["device \(index) stops \(order.message), whose session an undo took away"]
    default: break
    }
    return []
  }

  /// What a host could start now, and could not before or not yet.
  private func started(from before: Workspace, to after: Workspace) -> [String] {
    after.sessions().filter { $0.host != nil }.compactMap { session in
      guard let (message, state) = after.startable(in: session.id) else { return nil }
      guard let (former, old) = before.startable(in: session.id) else {
        return "\(message) could start in \(session.id)"
      }
      let time = state.earliest ?? 0
      if former == message {
        return time < old.earliest ?? 0 ? "\(message) could start sooner" : nil
      }
      let left = Set(((try? after.messageQueue(session.id))?.messages ?? []).map(\.id))
      let next = ((try? before.messageQueue(session.id))?.messages ?? []).map(\.id)
        .first(where: left.contains)
      return next == message && time >= old.earliest ?? 0
        ? nil : "\(message) could start in the place of \(former)"
    }
  }

  /// What an agent has, or has had, is as it was.
  private func lost(from before: Workspace, to after: Workspace) -> [String] {
    before.sessions().flatMap { session -> [String] in
      let tried = messages(of: session.id, before).filter { $0.run != nil }
      guard !tried.isEmpty else { return [] }
      guard after.session(session.id) != nil else { return ["\(session.id) is gone"] }
      return tried.compactMap { message in
        let now = try? after.message(message.id)
        return now?.run == message.run && now?.status == message.status
          && now?.content == message.content && now?.session == message.session
          ? nil : "\(message.id), which was tried, is another"
      }
    }
  }

  private func messages(of session: SessionID, _ workspace: Workspace) -> [MessageView] {
    ((try? workspace.messageQueue(session))?.messages ?? [])
      + workspace.finishedMessages(of: session)
  }
}

extension Command {
  /// Whether it takes a change back, or does one again.
  var turnsBack: Bool {
    switch self {
    case .undo(_, let skip): !skip
    case .redo: true
    default: false
    }
  }
}
