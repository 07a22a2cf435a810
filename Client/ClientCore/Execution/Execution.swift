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

/// Why an agent is being stopped.
enum StopReason: Hashable, Sendable {
  case leaseLost
  case drained
  case person
  /// Its session was deleted.
  case deleted

  /// Whether somebody wants it to end for good.
  var isFinal: Bool { self == .person || self == .deleted }
}

/// A question that waits for its answer.
struct Asking: Hashable, Sendable {
  var request: AuthorityRequest
  var id: UInt64
  var sentAt: Int64
  /// How often it was asked again on the same connection.
  var repeats = 0

  var isDispatch: Bool { if case .dispatch = request { true } else { false } }

  /// When it is asked again; later every time, so that a slow authority is not buried in questions.
  func repeatAt(_ settings: ExecutorSettings) -> Int64 {
    sentAt + settings.answerMilliseconds << Int64(min(repeats, 3))
  }
}

/// A request that the authority answers when the session's first message may start.
struct Standing: Hashable, Sendable {
  var id: UInt64
  /// The token of the lease it was asked under.
  var token: UInt64
  /// Since when a message may start here that the authority has not let out.
  var overdueSince: Int64?
  /// The number of the request that takes it back. What was let out before that arrived is given back.
  var withdrawal: UInt64?

  var isWithdrawn: Bool { withdrawal != nil }
}

/// A time without questions.
struct Pause: Hashable, Sendable {
  /// On the clock that never steps.
  var until: Int64
  /// Whether a change of the queues makes it worth asking before.
  var endsWithChange: Bool
  /// Whether the renewal of the lease is what could not be answered.
  var isForRenewal = false
}

/// A lease as its holder knows it.
struct HeldLease: Hashable, Sendable {
  var token: UInt64
  /// When the latest request was sent that the authority confirmed it with.
  var provenAt: Int64
}

/// A message that may be next.
struct Proposal: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var text: String
  var tags: [OperationID]
  /// Milliseconds since 1970 before which it must not start.
  var earliest: Int64?
}

/// An agent at work.
struct ActiveRun: Hashable, Sendable {
  var order: StartOrder
  /// Whether the agent was a person's own when it got the prompt: see `StartMode.gated`.
  var isOfPerson: Bool
  var stopping: StopReason?
}

/// Attempts of a message that ended in a row with nobody saying how they went.
struct SilentEnds: Hashable, Sendable {
  var message: MessageID
  var count: Int
}

/// An attempt that is said to be in flight, and that nothing here has begun.
struct SoughtRun: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var token: UInt64
  /// The authority says that no other store runs it.
  var isLost = false
}

/// What an executor knows of one session.
struct Seat: Hashable, Sendable {
  var session: SessionID
  var lease: HeldLease?
  /// The token of a lease that nobody confirmed for too long. Where nobody else got one, it goes on,
  /// and what was let out under it may be asked for.
  var lapsed: UInt64?
  var asking: Asking?
  /// Sent, and not answered yet.
  var standing: Standing?
  var proposal: Proposal?
  var run: ActiveRun?
  var pause: Pause?
  /// No start before this time: the agent could not be started a moment ago.
  var backoffUntil: Int64?
  /// When the head may start, in milliseconds since 1970.
  var wakeAtWall: Int64?
  var idleSince: Int64?
  /// The last attempt that ended here; its report may not be stored yet.
  var lastEnded: StartOrder?
  /// The attempt whose whereabouts were asked for last.
  var sought: SoughtRun?
  var silentEnds: SilentEnds?
  var failures = 0
  var spawnFailures = 0

  init(session: SessionID) {
    self.session = session
  }

  /// When something is to be done, on the clock that never steps; nil where nothing waits for time.
  func deadline(wall: Int64, now: Int64, settings: ExecutorSettings) -> Int64? {
    var times: [Int64] = []
    if let asking { times.append(asking.repeatAt(settings)) }
    if let pause, asking == nil { times.append(pause.until) }
    if let backoffUntil { times.append(backoffUntil) }
    if let since = standing?.overdueSince, asking == nil {
      times.append(since + settings.standingMilliseconds)
    }
    // The wall clock may be set meanwhile, so it is looked at again now and then.
    if let wakeAtWall { times.append(now + min(max(0, wakeAtWall - wall), 60_000)) }
    if let lease {
      let term =
        asking == nil && pause?.isForRenewal != true
        ? Authority.renewalMilliseconds : Authority.selfStopMilliseconds
      times.append(lease.provenAt + term)
      if let idleSince, asking == nil, pause == nil, run == nil {
        times.append(idleSince + settings.idleMilliseconds)
      }
    }
    return times.min()
  }
}
