import ClientCore
import QueueModel

/// A performed command has an immediate effect on its device.
final class CommandChecker: SimulationChecker {
  let name = "commands"

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .performed(let index, let action, let before, let outcome) = observation,
      let workspace = simulation.devices[index].process?.core.replica.workspace
    else { return [] }
    let problem =
      switch action {
      case .command(let command): check(command, outcome, from: before, to: workspace)
      case .edit(let message, let content, .current): checkEdit(message, content, workspace)
      case .edit, .open: String?.none
      }
    return problem.map { ["device \(index), \(action): \($0)"] } ?? []
  }

  private func checkEdit(
    _ message: MessageID, _ content: String, _ workspace: Workspace
  ) -> String? {
    let shown = (try? workspace.message(message).content) ?? ""
    return content.trimmedOfWhitespace().unicodeScalars.elementsEqual(shown.unicodeScalars)
      ? nil : "shows \(shown.prefix(60))"
  }

  private func check(
    _ command: Command, _ outcome: CommandOutcome, from before: Workspace,
    to workspace: Workspace
  ) -> String? {
    switch command {
    case .send(let send):
      return checkSend(to: send.session, outcome, from: before, to: workspace)
    case .move(let messages, let target):
      return checkMove(messages, to: target, outcome.notice, from: before, to: workspace)
    case .moveThreads(let sessions, let target):
      return checkMove(sessions, to: target, outcome.notice, from: before, to: workspace)
    case .cancel(let messages):
      return messages.contains { isWaiting($0, workspace) } ? "still waits" : nil
    case .restore(let message):
      return (try? workspace.message(message))?.status == .cancelled ? "stays cancelled" : nil
    case .clear(let session):
      // Messages that an agent has stay at the front.
      let left = ((try? workspace.messageQueue(session))?.messages ?? [])
        .filter { $0.status != .running }
      return left.isEmpty ? nil : "leaves \(left.count) messages"
    case .pause(let session, _):
      return workspace.session(session)?.paused == false ? "is not paused" : nil
    case .resume(let session):
      return workspace.session(session)?.paused == true ? "stays paused" : nil
    case .setPriority(let message, let priority):
      return (try? workspace.message(message))?.priority == priority ? nil : "has another priority"
    case .removeThreads(let sessions):
      let left = workspace.threadQueue().threads.map(\.session)
      return sessions.contains(where: left.contains) ? "stays in the thread queue" : nil
    case .addThreads(let sessions):
      let last = workspace.threadQueue().threads.suffix(Set(sessions).count).map(\.session)
      return Set(last) == Set(sessions) ? nil : "are not the last of the thread queue"
    case .requeueThread(let session):
      let last = workspace.threadQueue().threads.last
      return last?.session == session && last?.locked == true
        ? nil : "is not the last of the thread queue, and locked"
    case .clearThreads:
      return workspace.threadQueue().threads.isEmpty ? nil : "leaves threads"
    case .deleteSession(let session):
      return workspace.session(session) == nil ? nil : "is still there"
    case .archive(let session):
      return workspace.session(session)?.archived == true ? nil : "is still listed"
    case .unarchive(let session):
      return workspace.session(session)?.archived == false ? nil : "is not listed"
    case .setHost(let session, let host):
      return workspace.session(session)?.host == host ? nil : "has another host"
    case .retry(let message):
      // A device that is its own authority may start it at once.
      let status = (try? workspace.message(message))?.status
      return status == .queued || status == .running ? nil : "does not wait"
    case .skip(let message):
      return (try? workspace.message(message))?.status == .skipped ? nil : "is not skipped"
    case .hold(let message, let time):
      return (try? workspace.message(message))?.heldUntil == time ? nil : "is held otherwise"
    case .setLater(let message, let time):
      return (try? workspace.message(message))?.later == time ? nil : "is wanted at another time"
    case .setNeeds(let message, let needs):
      return (try? workspace.message(message)).map { Set($0.needs) } == Set(needs)
        ? nil : "waits for others"
    case .setNotBefore(let message, let time):
      return (try? workspace.message(message))?.notBefore == time
        ? nil : "has another start time"
    default:
      return nil
    }
  }

  private func checkSend(
    to session: SessionID, _ outcome: CommandOutcome, from before: Workspace,
    to workspace: Workspace
  ) -> String? {
    guard case .queued(let id, let position, let count, _) = outcome.notice else { return nil }
    let queue = (try? workspace.messageQueue(session))?.messages ?? []
    guard let place = queue.firstIndex(where: { $0.id == id }) else {
      // The message was moved elsewhere and sent again, so it keeps its place.
      return outcome.operations.isEmpty ? nil : "is not in the queue"
    }
    // The disk may now store the end of an attempt that it refused before.
    let former = (try? before.messageQueue(session))?.messages ?? []
    let ended = former.filter { old in
      old.status == .running && !queue.contains { $0.id == old.id }
    }.count
    // After a postponed message, it starts at once, and is at the front.
    let isAtItsPlace = place + 1 + ended == position || queue[place].status == .running
    return isAtItsPlace && queue.count + ended == count
      ? nil : "reports \(position) of \(count), but is \(place + 1) of \(queue.count)"
  }

  // MARK: - Moves

  /// The new queue must equal the old one with the messages removed and inserted at their target.
  /// Messages that were tried come first, then urgent ones.
  private func checkMove(
    _ ids: [MessageID], to target: MoveTarget, _ notice: CommandOutcome.Notice,
    from before: Workspace, to after: Workspace
  ) -> String? {
    let moved = ids.compactMap { try? before.message($0) }
    let neighbour: MessageID? =
      switch target {
      case .position: ids.first
      case .before(let neighbour), .after(let neighbour): neighbour
      }
    guard moved.count == ids.count,
      let queue = neighbour.flatMap({ try? before.message($0) })?.session
    else { return "names a message that is not there" }
    let old = (try? before.messageQueue(queue))?.messages ?? []
    var wanted = old.filter { !ids.contains($0.id) }
    let index: Int? =
      switch target {
      case .position(let position): min(position - 1, wanted.count)
      case .before(let neighbour): wanted.firstIndex { $0.id == neighbour }
      case .after(let neighbour): wanted.firstIndex { $0.id == neighbour }.map { $0 + 1 }
      }
    guard let index else { return "names a neighbour that is not there" }
    wanted.insert(contentsOf: moved, at: index)
    let shown = (try? after.messageQueue(queue))?.messages ?? []
    // A message that comes to the front of those that can start does so at once.
    let started = Set(
      shown.filter { message in
        message.status == .running
          && wanted.contains { $0.id == message.id && $0.status != .running }
      }.map(\.id))
    let blocks: [(MessageView) -> Bool] = [
      { $0.run != nil }, { $0.run == nil && $0.priority == .urgent },
      { $0.run == nil && $0.priority == .normal },
    ]
    let placed = blocks.flatMap { wanted.filter($0) }.map(\.id)
    return compare(
      notice, first: ids.first, old: old.map(\.id), wanted: placed, shown: shown.map(\.id),
      inFront: started)
  }

  private func checkMove(
    _ ids: [SessionID], to target: ThreadTarget, _ notice: CommandOutcome.Notice,
    from before: Workspace, to after: Workspace
  ) -> String? {
    let old = before.threadQueue().threads.map(\.session)
    var wanted = old.filter { !ids.contains($0) }
    let index: Int? =
      switch target {
      case .position(let position): min(position - 1, wanted.count)
      case .before(let neighbour): wanted.firstIndex(of: neighbour)
      case .after(let neighbour): wanted.firstIndex(of: neighbour).map { $0 + 1 }
      }
    guard let index else { return "names a neighbour that is not there" }
    wanted.insert(contentsOf: ids, at: index)
    return compare(
      notice, first: ids.first, old: old, wanted: wanted,
      shown: after.threadQueue().threads.map(\.session))
  }

  /// - Parameter inFront: those at their place that came to the front before they are shown.
  private func compare<ID: Hashable>(
    _ notice: CommandOutcome.Notice, first: ID?, old: [ID], wanted: [ID], shown: [ID],
    inFront: Set<ID> = []
  ) -> String? {
    let order = wanted.filter(inFront.contains) + wanted.filter { !inFront.contains($0) }
    guard shown == order else { return "gives \(shown), not \(order)" }
    switch notice {
    case .unchanged: return wanted == old ? nil : "reports that nothing changed"
    case .moved(let position):
      return wanted.indices.contains(position - 1) && wanted[position - 1] == first
        ? nil : "answers position \(position)"
    default: return "answers \(notice)"
    }
  }

  private func isWaiting(_ message: MessageID, _ workspace: Workspace) -> Bool {
    (try? workspace.message(message))?.status == .queued
  }
}
