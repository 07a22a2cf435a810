import ClientCore
import DispatchAuthority
import QueueModel

/// No message is granted before the messages that it waits for have succeeded, unless a user starts
/// it; and messages never wait for each other forever.
///
/// Only a user removes the needs with which a message was sent. Needs that users set later may race
/// with the start of the message.
final class NeedsChecker: SimulationChecker {
  let name = "needs"

  /// The messages that ever waited for others; only these are looked up.
  private var needy: Set<MessageID> = []
  /// The needs with which messages were sent.
  private var sentWith: [MessageID: [MessageID]] = [:]
  /// Messages that were sent twice, or whose needs a user or a copy may have changed.
  private var freed: Set<MessageID> = []
  /// Whether a store went back in time, or a copy wrote, so that needs may be lost.
  private var isUnsure = false

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .performed(let index, .command(let command), let before, _):
      let after = simulation.devices[index].process?.core.replica.workspace
      learn(command, from: before, to: after)
    case .interrupted(_, .command(let command), let before, let after):
      learn(command, from: before, to: after)
    case .rolledBack, .memoryCloned, .joined, .lostCommits:
      isUnsure = true
    case .granted(let dispatches):
      return check(dispatches.map(\.message).filter(needy.contains)) {
        try? simulation.server.disk.storedWorkspace()
      }
    case .agentStarted(let device, let order) where simulation.options.isAlone:
      return check([order.message].filter(needy.contains)) {
        simulation.devices[device].process?.core.replica.workspace
      }
    default: break
    }
    return []
  }

  private func learn(_ command: Command, from before: Workspace, to after: Workspace?) {
    switch command {
    case .send(let send):
      if !send.needs.isEmpty { needy.insert(send.id) }
      if sentWith.updateValue(send.needs, forKey: send.id) != nil { freed.insert(send.id) }
    case .setNeeds(let id, _), .setNotBefore(let id, nil):
      needy.insert(id)
      freed.insert(id)
    case .undo, .redo:
      for id in needy where needs(of: id, before) != after.flatMap({ needs(of: id, $0) }) {
        freed.insert(id)
      }
    default: break
    }
  }

  private func needs(of id: MessageID, _ workspace: Workspace) -> [MessageID]? {
    try? workspace.message(id).needs
  }

  private func check(_ messages: [MessageID], in state: () -> Workspace?) -> [String] {
    guard !messages.isEmpty, let workspace = state() else { return [] }
    return messages.flatMap { id -> [String] in
      let now = needs(of: id, workspace) ?? []
      if let lacking = now.first(where: { isLacking($0, for: id, workspace) }) {
        return ["\(id) starts before \(lacking), which it waits for"]
      }
      guard !isUnsure, !freed.contains(id), let sent = sentWith[id], sent != now,
        let lacking = sent.first(where: { isLacking($0, for: id, workspace) })
      else { return [] }
      return ["\(id) starts before \(lacking), though no user let it"]
    }
  }

  /// Whether a message must still succeed. One that waits for `id` itself does not count.
  private func isLacking(_ need: MessageID, for id: MessageID, _ workspace: Workspace) -> Bool {
    (try? workspace.message(need))?.status != .succeeded
      && !reached(from: need, workspace).contains(id)
  }

  private func reached(from start: MessageID, _ workspace: Workspace) -> Set<MessageID> {
    var found: Set<MessageID> = [start]
    var new = [start]
    while !new.isEmpty {
      new = new.flatMap { needs(of: $0, workspace) ?? [] }.filter { found.insert($0).inserted }
    }
    return found
  }

  func settled(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    return needy.sorted().compactMap { id in
      var path = [id]
      while let next = workspace.unmetNeeds(of: path[path.count - 1]).first?.message {
        guard !path.contains(next) else { return "\(id) waits for \(path), which wait in a circle" }
        path.append(next)
      }
      return nil
    }
  }
}
