/// How an agent's turn ended.
public enum TurnResult: Hashable, Sendable {
  /// The agent succeeded; a line that summarizes the work, possibly empty.
  case succeeded(summary: String)
  /// The agent or its exit code reports that it did not succeed.
  case failed(String)
  /// The agent's process died, or ended without the final entry of its format.
  case died(String)
  /// The agent cannot work before a time, in milliseconds since 1970; this is not a failure.
  case tryLater(Int64, reason: String)
  /// The agent cannot work for this duration, in milliseconds, whatever the clock shows.
  case tryAfter(Int64, reason: String)
  /// No agent was available that could get the prompt.
  case notStarted(String)
}
