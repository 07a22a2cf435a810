package import QueueModel
import SequenceCRDT

/// Undoes a command and redoes it, without commands of others in between: the views must equal
/// exactly those from before and from after. Two differences are allowed: the time at which a
/// thread was queued does not return, and a session that was paused to prevent starts stays paused.
package enum UndoCheck {
  /// The differences, in words; empty if there are none.
  ///
  /// - Parameters:
  ///   - before: the device before the command.
  ///   - after: the device after it.
  package static func differences(
    of outcome: CommandOutcome, from before: TestDevice, to after: TestDevice
  ) -> [String] {
    let (typed, open) = (before.history.openTyping, after.history.openTyping)
    // A stretch of typing continues, and its edition comes with its latest change.
    if typed != nil, typed?.seen == open?.seen { return [] }
    // Text that was typed before the command, or by it, ends with its own edition.
    var (before, after) = (before, after)
    do {
      try before.endTyping()
      try after.endTyping()
    } catch {
      return ["the end of typing: \(error)"]
    }
    // A pause for the same reason again, or a cancel in a deleted session, changes nothing visible.
    let showsNothing =
      View(before.workspace, known: before.workspace)
      == View(after.workspace, known: before.workspace)
    guard outcome.change != nil else {
      return showsNothing ? [] : ["nothing says how to take it back"]
    }
    // Typing continues with the change before it.
    guard
      after.history.undoCount > before.history.undoCount
        || after.history.undoCount == Limits.undoGroupsMax
    else { return [] }
    var device = after
    var details: [String] = []
    var paused: Set<SessionID> = []
    for (what, command, wanted) in [
      ("undo", Command.undo, before.workspace), ("redo", .redo, after.workspace),
      ("undo again", .undo, before.workspace),
    ] {
      do {
        let start = device.workspace
        let result = try device.perform(command).notice.undoResult
        try device.workspace.checkInvariants()
        guard let result, result.left.isEmpty else { return details }
        paused.formUnion(result.paused)
        details += starts(from: start, to: device.workspace).map { "\(what): \($0)" }
      } catch QueueError.notUndoable(let label, let obstacle) {
        // A message without text leaves nothing once it is cancelled.
        return obstacle.code == "overtaken" && !showsNothing && label.text != ""
          ? details + ["\(what) of \(label): \(obstacle)"] : details
      } catch {
        details.append("\(what): \(error)")
      }
      var shown = View(device.workspace, known: before.workspace, ignoringPauseOf: paused)
      let expected = View(wanted, known: before.workspace, ignoringPauseOf: paused)
      // A session with changes by others stays, even if the command added or restored it.
      if command == .undo { shown.leaveOut(sessionsBesides: expected, known: before.workspace) }
      if shown != expected { details.append("\(what): \(shown), not \(expected)") }
    }
    return details
  }

  /// The messages that could start after an undo and not before, in sessions with a host.
  private static func starts(from before: Workspace, to after: Workspace) -> [String] {
    after.sessions().filter { $0.host != nil }.compactMap { session in
      guard let (message, _) = after.startable(in: session.id),
        before.startable(in: session.id) == nil
      else { return nil }
      return "\(message) could start in \(session.id)"
    }
  }

  /// What a user sees, without cancelled messages that did not exist before.
  package struct View: Equatable {
    var threads: [ThreadView]
    var sessions: [SessionView]
    var queues: [MessageQueueView]
    var cancelled: [[MessageView]]

    package init(
      _ workspace: Workspace, known: Workspace, ignoringPauseOf paused: Set<SessionID> = []
    ) {
      threads = workspace.threadQueue().threads
      for index in threads.indices { threads[index].queuedAt = 0 }
      sessions = workspace.sessions()
      queues = sessions.compactMap { try? workspace.messageQueue($0.id) }
      for index in sessions.indices where paused.contains(sessions[index].id) {
        sessions[index].paused = false
        queues[index].paused = false
        queues[index].pauseReasons = []
      }
      cancelled = sessions.map { session in
        workspace.cancelledMessages(of: session.id).filter {
          (try? known.message($0.id)) != nil
        }
      }
      for index in queues.indices { View.sortVersions(of: &queues[index].messages) }
      for index in cancelled.indices { View.sortVersions(of: &cancelled[index]) }
    }

    /// A restored version comes after others of its time.
    private static func sortVersions(of messages: inout [MessageView]) {
      for index in messages.indices where messages[index].isMerged {
        messages[index].versions.sort {
          ($0.savedAt, $0.text ?? "", $0.bytes) < ($1.savedAt, $1.text ?? "", $1.bytes)
        }
      }
    }

    /// Omits the sessions that another view does not show, unless a message waits in them that did
    /// not already wait before in a deleted session.
    fileprivate mutating func leaveOut(sessionsBesides other: View, known workspace: Workspace) {
      let known = Set(other.sessions.map(\.id))
      for index in sessions.indices.reversed()
      where !known.contains(sessions[index].id)
        && queues[index].messages.allSatisfy({ (try? workspace.message($0.id)) != nil })
      {
        sessions.remove(at: index)
        queues.remove(at: index)
        cancelled.remove(at: index)
      }
    }
  }
}
