/// Why no message of a session starts on the device that is its host, although messages wait in its
/// queue.
public enum StartObstacle: Hashable, Sendable {
  /// The device has no agent for the session.
  case noAgent
  /// No user at the device has allowed the session to run.
  case consentMissing
  /// The agent works for a user at its own prompt.
  case agentBusy
  /// A user works with the agent, which does not ask for a prompt now.
  case agentNotAsking
  /// The program is about to end.
  case draining
  /// A part of a change to the first message has not arrived. The device that made the change sends
  /// the rest, or a user cancels the message.
  case changeIncomplete
  /// The text of the first message was merged from several that were saved independently. A user
  /// must choose one.
  case merged
  /// Nothing is left of the text of the first message: another device deleted it as old while this
  /// one restored it, or users deleted it. A user must write one, or cancel the message.
  case blank
  /// The agent of this other session still has the first message, which was moved here meanwhile.
  case movedWhileRunning(SessionID)
  /// An attempt of the session may still be at work on another device.
  case runsElsewhere
  /// The first message must not start before this time, in milliseconds since 1970, or no message
  /// is in line before it.
  case notBefore(Int64)
  /// No message is in line before this one has succeeded.
  case needs(UnmetNeed)
  /// The last start, or the last request to the authority, failed. The next attempt is at this
  /// time, in milliseconds since 1970.
  case triesAgain(Int64)
  /// The authority has not answered whether it may start.
  case unanswered
}
