package import QueueModel
import SequenceCRDT

/// Takes a command back and does it again where nobody else acted in between: the views must be
/// exactly those from before, and from after.
package enum UndoCheck {
  /// What is wrong, in words; empty where nothing is.
  package static func differences(
    of outcome: CommandOutcome, from before: Workspace, to after: Workspace
  ) -> [String] {
    guard let group = outcome.undo, let author = outcome.operations.first?.id.replica else {
      return outcome.operations.isEmpty ? [] : ["nothing says how to take it back"]
    }
    var workspace = after
    var inverse = group
    var details: [String] = []
    for (what, wanted) in [("undo", before), ("redo", after), ("undo again", before)] {
      let stamp = Stamp(rawValue: workspace.latestStamp.rawValue + 1)
      do {
        let taken = try workspace.undo(
          inverse, in: CommandContext(replica: author, stamp: stamp))
        inverse = taken.undo ?? UndoGroup(label: group.label, milliseconds: 0)
        try workspace.checkInvariants()
      } catch {
        details.append("\(what): \(error)")
      }
      let (shown, expected) = (View(workspace, known: before), View(wanted, known: before))
      if shown != expected { details.append("\(what): \(shown), not \(expected)") }
    }
    return details
  }

  /// What a person sees, without the cancelled messages that were not there before.
  package struct View: Equatable {
    var threads: [ThreadView]
    var sessions: [SessionView]
    var queues: [MessageQueueView]
    var cancelled: [[MessageView]]

    package init(_ workspace: Workspace, known: Workspace) {
      threads = workspace.threadQueue().threads
      sessions = workspace.sessions()
      queues = sessions.compactMap { try? workspace.messageQueue($0.id) }
      cancelled = sessions.map { session in
        workspace.cancelledMessages(of: session.id).filter {
          (try? known.message($0.id)) != nil
        }
      }
    }
  }
}
