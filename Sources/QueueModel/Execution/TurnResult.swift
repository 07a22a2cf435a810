/// How an agent's turn ended.
public enum TurnResult: Hashable, Sendable {
  /// The agent did it; a line of what, possibly empty.
  case succeeded(summary: String)
  /// The agent or its exit code reports that it did not succeed.
  case failed(String)
  /// The agent's process died, or ended without the word that its format ends with.
  case died(String)
  /// The agent cannot work before a time, in milliseconds since 1970; this was no failure.
  case tryLater(Int64, reason: String)
  /// The agent cannot work for so long, in milliseconds; no clock is asked.
  case tryAfter(Int64, reason: String)
  /// There was no agent that could have got the prompt.
  case notStarted(String)
}
