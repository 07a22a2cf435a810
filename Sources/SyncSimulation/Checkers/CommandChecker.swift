import ClientCore
import QueueModel

/// A command that was taken shows at once on the device that gave it.
final class CommandChecker: SimulationChecker {
  let name = "commands"

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    guard case .performed(let index, let action, _, let outcome) = observation,
      let workspace = simulation.devices[index].process?.core.replica.workspace
    else { return [] }
    let problem =
      switch action {
      case .command(let command): check(command, outcome, workspace)
      case .edit(let message, let content, .current): checkEdit(message, content, workspace)
      case .edit, .open: String?.none
      }
    return problem.map { ["device \(index), \(action): \($0)"] } ?? []
  }

  private func checkEdit(
    _ message: MessageID, _ content: String, _ workspace: Workspace
  ) -> String? {
    // Blank texts and white space at the ends are the model's business.
    let shown = (try? workspace.message(message).content) ?? ""
    let isEqual = content.unicodeScalars.elementsEqual(shown.unicodeScalars)
    return isEqual || content.unicodeScalars.count != shown.unicodeScalars.count
      ? nil : "shows \(shown.prefix(60))"
  }

  private func check(
    _ command: Command, _ outcome: CommandOutcome, _ workspace: Workspace
  ) -> String? {
    switch command {
    case .send(let send):
      guard case .queued(let id, let position, let count, _) = outcome.notice else { return nil }
      let queue = (try? workspace.messageQueue(send.session))?.messages ?? []
      guard let place = queue.firstIndex(where: { $0.id == id }) else {
        // Sent again after it went elsewhere: it is answered where it is.
        return outcome.operations.isEmpty ? nil : "is not in the queue"
      }
      return place + 1 == position && queue.count == count
        ? nil : "answers \(position) of \(count), stands at \(place + 1) of \(queue.count)"
    case .cancel(let messages):
      return messages.contains { isWaiting($0, workspace) } ? "still waits" : nil
    case .restore(let message):
      return (try? workspace.message(message))?.status == .cancelled ? "stays cancelled" : nil
    case .clear(let session):
      // What an agent has stays in front.
      let left = ((try? workspace.messageQueue(session))?.messages ?? [])
        .filter { $0.status != .running }
      return left.isEmpty ? nil : "leaves \(left.count) messages"
    case .pause(let session, _):
      return workspace.session(session)?.paused == false ? "is not paused" : nil
    case .resume(let session):
      return workspace.session(session)?.paused == true ? "stays paused" : nil
    case .setPriority(let message, let priority):
      return (try? workspace.message(message))?.priority == priority ? nil : "has another one"
    case .removeThreads(let sessions):
      let left = workspace.threadQueue().threads.map(\.session)
      return sessions.contains(where: left.contains) ? "stays in the thread queue" : nil
    case .addThreads(let sessions):
      let last = workspace.threadQueue().threads.suffix(Set(sessions).count).map(\.session)
      return Set(last) == Set(sessions) ? nil : "are not the last of the thread queue"
    case .clearThreads:
      return workspace.threadQueue().threads.isEmpty ? nil : "leaves threads"
    case .deleteSession(let session):
      return workspace.session(session) == nil ? nil : "is still there"
    default:
      return nil
    }
  }

  private func isWaiting(_ message: MessageID, _ workspace: Workspace) -> Bool {
    (try? workspace.message(message))?.status == .queued
  }
}
