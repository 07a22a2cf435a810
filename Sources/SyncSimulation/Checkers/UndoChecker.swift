import ClientCore
import QueueModel
import QueueOracle

/// An undo or a redo alone never starts, stops or repeats a turn, and never removes history: on its
/// own device, and at the server if the device was offline.
final class UndoChecker: SimulationChecker {
  let name = "undo"

  /// Sessions that an undo or a redo removed, and that no user has removed since.
  private var takenAway: Set<SessionID> = []
  private var apart = ApartUndos()

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    judge(observation, in: simulation) + apart.note(observation, in: simulation)
  }

  private func judge(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(_, .command(.deleteSession(let session)), _, _),
      .interrupted(_, .command(.deleteSession(let session)), _, _):
      takenAway.remove(session)
    case .agentStarted(_, let order):
      // The server still had the session when it granted this attempt.
      takenAway.remove(order.session)
    case .performed(let index, .command(let command), let before, _) where command.turnsBack:
      guard let after = simulation.devices[index].process?.core.replica.workspace else { break }
      for session in before.sessions() where after.session(session.id) == nil {
        takenAway.insert(session.id)
      }
      let touched = Set(before.sessions().map(\.id) + after.sessions().map(\.id)).sorted()
      let started = HostTurns.started(in: touched, from: before, to: after)
      return (started + lost(from: before, to: after)).map {
        "device \(index), \(command): \($0)"
      }
    case .agentStopped(let index, let order):
      guard takenAway.contains(order.session),
        let workspace = simulation.devices[index].process?.core.replica.workspace,
        workspace.session(order.session) == nil
      else { break }
      return ["device \(index) stops \(order.message), whose session an undo removed"]
    default: break
    }
    return []
  }

  /// Messages that an agent has, or has had, are unchanged.
  private func lost(from before: Workspace, to after: Workspace) -> [String] {
    before.sessions().flatMap { session -> [String] in
      let tried = UndoChecker.messages(of: session.id, before).filter { $0.run != nil }
      guard !tried.isEmpty else { return [] }
      guard after.session(session.id) != nil else { return ["\(session.id) is gone"] }
      return tried.compactMap { message in
        let now = try? after.message(message.id)
        return now?.run == message.run && now?.status == message.status
          && now?.content == message.content && now?.session == message.session
          ? nil : "\(message.id), which was tried, has changed"
      }
    }
  }

  static func messages(of session: SessionID, _ workspace: Workspace) -> [MessageView] {
    ((try? workspace.messageQueue(session))?.messages ?? [])
      + workspace.finishedMessages(of: session)
  }
}

extension Command {
  /// Whether it is an undo or a redo.
  var turnsBack: Bool {
    switch self {
    case .undo(_, let skip): !skip
    case .redo: true
    default: false
    }
  }
}
