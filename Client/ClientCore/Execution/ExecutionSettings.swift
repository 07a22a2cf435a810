import DispatchAuthority
package import QueueModel
import SequenceCRDT
import WireProtocol

/// When the messages of a session may start.
package enum StartMode: Hashable, Sendable {
  /// Never here.
  case off
  /// When their turn comes.
  case free
  /// When their turn comes while the agent waits for them.
  case gated
}

/// How an executor behaves.
package struct ExecutorSettings: Hashable, Sendable {
  /// What to do with an attempt that ended and of which nobody says how it went, be it that nobody
  /// knows or that its agent is known to have died or been stopped. Where the agent is a person's own
  /// (`gated`), that person decides.
  package enum UnknownPolicy: String, Hashable, Sendable, CaseIterable {
    /// A person decides.
    case ask
    /// Go on without it.
    case skip
    /// Try it again, at the risk that the agent did it already; `startsMax` times in a row.
    case retry
  }

  /// Whether there are agents; without them nothing is claimed.
  package var isEnabled = true
  /// Whether sessions are `gated` where `modes` says nothing.
  package var isGated = false
  /// Sessions that differ from the rest.
  package var modes: [SessionID: StartMode] = [:]
  package var onUnknown = UnknownPolicy.ask
  /// Whether the queue goes on without a message that failed.
  package var skipsFailed = false
  /// How often in a row a message is tried whose agent cannot be started, or ends without a word.
  package var startsMax = 3
  /// Backoff before the next question after one that was answered with no.
  package var retryMillisecondsMin: Int64 = 1_000
  package var retryMillisecondsMax: Int64 = 10_000
  /// How long a message that may start waits for the authority to let it out by itself, where it was
  /// asked to; then it is asked for.
  var standingMilliseconds: Int64 = 1_000
  /// A question without an answer is asked again after this time.
  package var answerMilliseconds: Int64 = 5_000
  /// A message that an agent cannot work on before a time waits so long at least, whatever time it
  /// names: its clock, or this device's, may be wrong.
  package var laterMillisecondsMin: Int64 = 10_000
  /// And so long at most: the limits of agents end within a week.
  package var laterMillisecondsMax: Int64 = 8 * 86_400_000
  /// How long the lease of an idle session is kept.
  package var idleMilliseconds: Int64 = 60_000

  package init() {}
}

/// A message to be handed to an agent; stored as an intent before it is.
package struct StartOrder: Hashable, Sendable {
  package var session: SessionID
  package var message: MessageID
  package var attempt: UInt16
  /// The token of the lease it was let out under.
  package var token: UInt64
  /// The prompt, exactly as it was let out.
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

  /// What to report of it.
  package func run(_ phase: RunPhase, milliseconds: Int64, note: String) -> Run {
    Run(token: token, attempt: attempt, phase: phase, milliseconds: milliseconds, note: note)
  }
}

/// How a run ended.
package enum RunResult: Hashable, Sendable {
  /// The agent did it.
  case succeeded(summary: String)
  /// The agent says, or its exit code does, that it did not.
  case failed(String)
  /// The agent's process died, or ended without a word.
  case died(String)
  /// The agent cannot work before a time, in milliseconds since 1970.
  case tryLater(Int64, reason: String)
  /// The agent cannot work for so long, in milliseconds.
  case tryAfter(Int64, reason: String)
  /// There was no agent that could have got the prompt.
  case notStarted(String)
}

/// Counts of what an executor did since the program began.
package struct ExecutionCounters: Hashable, Sendable {
  /// Leases asked for.
  package var claims = 0
  /// Agents started.
  package var starts = 0
  /// Leases lost.
  package var fenced = 0
  /// Attempts of which nobody knows what became of them.
  package var unknown = 0
}
