package import QueueModel

/// A message for an agent; stored as an intent before it is handed over.
package struct StartOrder: Hashable, Sendable {
  package var session: SessionID
  package var message: MessageID
  package var attempt: UInt16
  /// The token of the lease under which it was granted.
  package var token: UInt64
  /// The prompt, exactly as it was granted.
  package var text: String

  package init(
    session: SessionID, message: MessageID, attempt: UInt16, token: UInt64, text: String
  ) {
    self.session = session
    self.message = message
    self.attempt = attempt
    self.token = token
    self.text = text
  }

  /// Whether a run of a message belongs to this order, or to an earlier order with the same number.
  /// After a restore of the server, an attempt with the same number may run under a later lease.
  func isReported(by run: Run, of message: MessageID) -> Bool {
    self.message == message && attempt == run.attempt && token >= run.token
  }

  /// Whether another order is for the same attempt; one made from a report has no text.
  package func isSameAttempt(as other: StartOrder) -> Bool {
    message == other.message && attempt == other.attempt && token == other.token
  }

  /// The run to report.
  package func run(_ phase: RunPhase, milliseconds: Int64, note: String) -> Run {
    Run(token: token, attempt: attempt, phase: phase, milliseconds: milliseconds, note: note)
  }
}
