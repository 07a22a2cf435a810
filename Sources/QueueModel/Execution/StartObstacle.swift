/// Why nothing of a session starts on the device that is its host, though messages wait in its queue.
public enum StartObstacle: Hashable, Sendable {
  /// The device has no agent for the session.
  case noAgent
  /// No person at the device lets it run the session.
  case consentMissing
  /// The agent works for a person at its own prompt.
  case agentBusy
  /// The agent is a person's own, and asks for no prompt now.
  case agentNotAsking
  /// The program is to end.
  case draining
  /// A part of a change of the first message has not come: the device that made it sends the rest, or a
  /// person cancels the message.
  case changeIncomplete
  /// The text of the first message was merged of several that were saved apart: a person chooses one.
  case merged
  /// The agent of this other session still has the first message, which was moved here meanwhile.
  case movedWhileRunning(SessionID)
  /// An attempt of the session may still be at work on another device.
  case runsElsewhere
  /// The first message is not to start before this time, in milliseconds since 1970, or no message is in line
  /// before it.
  case notBefore(Int64)
  /// The last start, or the last question to the authority, came to nothing: the next try comes at this
  /// time, in milliseconds since 1970.
  case triesAgain(Int64)
  /// The authority has not answered whether it may start.
  case unanswered
}
