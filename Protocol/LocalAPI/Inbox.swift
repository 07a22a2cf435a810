import Basics
package import QueueModel

/// Everything that needs its user: one list, in the same order in every program.
package struct InboxListAnswer: APIValue {
  /// A session with the first reason that applies.
  package struct Line: APIValue {
    package enum Reason: String, Codable, CaseIterable, Sendable {
      case asks, failed, unknown, merged
      /// A message that waits for one that was cancelled, skipped or did not succeed.
      case inVain
      /// A visible thread whose agent is done, or that needs its user for another reason.
      case done, ready

      /// The reason as users read it.
      package var words: String {
        switch self {
        case .asks: "asks"
        case .failed: "failed"
        case .unknown: "unknown"
        case .merged: "merged text"
        case .inVain: "waits in vain"
        case .done: "done, unread"
        case .ready: "your turn"
        }
      }
    }

    package static let notes = ["since": Note.time]

    package var reason: Reason
    package var session: SessionID
    package var sessionName: String
    package var project: String
    /// Since when it waits for its user.
    package var since: String
    /// The reason in words: the request, the error, the obstacle, the result.
    package var note: String
    /// The shell command that decides it; absent if only the agent's own prompt can.
    package var command: String?
    /// The only open request.
    package var request: QueueModel.RequestID?
    /// The message that failed, has an unknown outcome or was merged.
    package var message: MessageID?
    /// Its place in the thread queue; absent if it is not in it.
    package var position: Int?

    package init(
      _ reason: Reason, _ session: SessionView, since: Int64, note: String, command: String?
    ) {
      self.reason = reason
      self.session = session.id
      sessionName = session.name
      project = session.project
      self.since = ISOTime.text(milliseconds: since)
      self.note = note
      self.command = command
      position = session.threadPosition
    }
  }

  /// First everything that asks, failed, is unknown or merged, the oldest first; then the visible
  /// threads in the order of the thread queue.
  package var lines: [Line]
  /// Whether the thread queue is on; if it is off, no threads are listed.
  package var threadQueue: Bool
  /// Actions of this device's user that did not take effect, until dismissed: edits and cancels
  /// that came too late, answers that do not count; absent if there are none.
  package var notices: [NotificationAnswer]?

  package init(lines: [Line], threadQueue: Bool, notices: [NotificationAnswer] = []) {
    self.notices = notices.isEmpty ? nil : notices
    self.lines = lines
    self.threadQueue = threadQueue
  }
}
