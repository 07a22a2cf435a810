package import QueueModel
package import WireProtocol

/// A change to a waiting message, which races with its start. The author of the change asks the
/// authority for the message's `outcome` after it, and the answer shows which came first.
///
/// ```swift
/// let race = StartRace(withdrawing: message, in: workspace)   // before the command
/// …                                                           // the command, and the question
/// if race.ending(answer) == .inTime { … }                     // the agent will never get it
/// ```
package struct StartRace: Hashable, Sendable {
  /// The change that came first.
  package enum Ending: Hashable, Sendable {
    /// The change: no later attempt begins without it.
    case inTime
    /// The start: the agent has the message without the change.
    case tooLate
    /// The authority did not report which was first.
    case unconfirmed
  }

  package let message: MessageID
  /// The latest attempt whose beginning was known before the change.
  package let knownAttempt: UInt16
  /// The digest of the text that an edit gave the message; nil for a withdrawal.
  package let content: UInt64?

  /// A withdrawal of a message.
  ///
  /// - Parameter workspace: the workspace before it.
  package init(withdrawing message: MessageID, in workspace: Workspace) {
    self.message = message
    knownAttempt = StartRace.attempt(of: message, in: workspace)
    content = nil
  }

  /// A withdrawal of several messages.
  ///
  /// - Complexity: O(messages); one by one, each would search its session.
  package static func withdrawing(
    _ messages: some Collection<MessageID>, in workspace: Workspace
  ) -> [StartRace] {
    let runs = workspace.runs(of: messages)
    return messages.map {
      StartRace(message: $0, knownAttempt: runs[$0]?.attempt ?? 0, content: nil)
    }
  }

  private init(message: MessageID, knownAttempt: UInt16, content: UInt64?) {
    self.message = message
    self.knownAttempt = knownAttempt
    self.content = content
  }

  /// A new text of a message.
  ///
  /// - Parameters:
  ///   - before: the workspace before it.
  ///   - after: the workspace after it.
  package init(editing message: MessageID, from before: Workspace, to after: Workspace) {
    self.message = message
    knownAttempt = StartRace.attempt(of: message, in: before)
    content = (try? after.message(message)).map { DispatchRequest.contentDigest($0.content) } ?? 0
  }

  private static func attempt(of message: MessageID, in workspace: Workspace) -> UInt16 {
    workspace.runs(of: [message])[message]?.attempt ?? 0
  }

  /// The result, by the answer to the question for the message's outcome.
  package func ending(_ answer: AuthorityAnswer) -> Ending {
    guard case .outcome(let attempt, _, let digest) = answer else { return .unconfirmed }
    return attempt > knownAttempt && digest != content ? .tooLate : .inTime
  }
}
