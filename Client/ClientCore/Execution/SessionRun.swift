import DispatchAuthority
package import QueueModel
package import WireProtocol

/// An executor's state of one session: three parallel machines, and their memory.
///
/// ```text
/// lease       none ──claim, leased──▶ held ──not confirmed for 20 s──▶ lapsed ──leased again──▶ held
///              ▲                       │                                 │
///              └── released, fenced, ──┴──── another store had one ──────┘
///                  other host (fenced alone while an agent works)
///
/// question    silent ──ask──▶ asking ──answer──▶ silent, or paused if it was no
///                ▲              │ ▲                 │
///                └── given up ──┘ └──── renewal ────┤
///                ▲                                  │
///                └──────── time, or a change ───────┘
///
/// work        none ──go, or let out──▶ running ──fenced, person, …──────▶ stopping
///               ▲                         │                                  │
///               └─────────────────────── ended ──────────────────────────────┘
/// ```
///
/// A lease is renewed while an agent runs, and an agent keeps running while its lease is requested,
/// or has lapsed, so the three machines are separate. `next` is the request that the authority
/// answers when a message may start.
struct SessionRun: Hashable, Sendable {
  let session: SessionID
  var lease = Lease.none
  var question = Question.silent
  var next = NextRequest.none
  var work = Work.none
  var times = Times()
  var past = Past()

  /// Failures that are counted; more do not make waits longer.
  static let failuresMax = 10

  init(session: SessionID) {
    self.session = session
  }

  /// Whether this device may run the session's messages.
  enum Lease: Hashable, Sendable {
    case none
    /// It was not confirmed for too long. If no other store got one, it can be renewed, and a
    /// message granted under it may be requested.
    case lapsed(token: UInt64)
    /// The authority confirmed it with the answer to a request that was sent at `provenAt`.
    case held(HeldLease)
  }

  /// The question to the authority, and when it is asked again.
  enum Question: Hashable, Sendable {
    case silent
    /// It has not answered yet; the pause comes after the answer.
    case asking(Asking, then: Pause?)
    /// Before a time only a renewal is asked.
    case paused(Pause)
  }

  /// An open request, which the authority answers when the session's first message may start. An
  /// answer to a request that is being withdrawn is returned.
  enum NextRequest: Hashable, Sendable {
    case none
    /// `token` is that of the lease under which it was asked. `overdueSince`: since when a message
    /// may start here that the authority has not granted.
    case waiting(id: UInt64, token: UInt64, overdueSince: Int64?)
    /// `withdrawal` is the number of the request that withdraws it.
    case withdrawing(id: UInt64, token: UInt64, withdrawal: UInt64)
  }

  /// An agent at work.
  enum Work: Hashable, Sendable {
    case none
    case running(ActiveRun)
    /// It was asked to stop, and has not ended.
    case stopping(ActiveRun, StopReason)
  }

  /// Times to wait for.
  struct Times: Hashable, Sendable {
    /// No start before this time: the agent could not be started a moment ago.
    var backoffUntil: Int64?
    /// When the first message may start, or the next one comes into line, in milliseconds since 1970.
    var wakeAtWall: Int64?
    /// Messages that the authority does not grant yet, since by its clock their time has not come,
    /// and the times until which they are skipped.
    var passedOver: [MessageID: Int64] = [:]
    /// Whether messages are skipped that wait for others, which may be in any session.
    var isInNeed = false
    /// Since when nothing has been waiting to run under the lease.
    var idleSince: Int64?
  }

  /// The results of earlier questions and attempts.
  struct Past: Hashable, Sendable {
    /// The last attempt that ended here; its report may not be stored yet.
    var lastEnded: StartOrder?
    /// The attempt about whose place the authority was last asked.
    var sought: RunLookup?
    /// The attempt on another device that blocks the session, by the authority's latest answer.
    var runsElsewhere: AttemptElsewhere?
    var silentEnds: SilentEnds?
    /// Refusals in a row.
    var failures = 0
    /// Failed starts in a row.
    var spawnFailures = 0
  }
}

/// Why an agent is being stopped.
enum StopReason: Hashable, Sendable {
  /// Another store has a later lease, or the attempt was taken over.
  case fenced
  /// The server did not answer for too long, and the session has the setting "stop".
  case serverLost
  case drained
  case person
  /// Its session was deleted.
  case deleted

  /// Whether the agent must end permanently.
  var isFinal: Bool { self == .person || self == .deleted }
}

/// A question that waits for its answer.
struct Asking: Hashable, Sendable {
  enum Subject: Hashable, Sendable {
    /// Whether a message may start, with the text that its agent gets.
    case dispatch(DispatchRequest, text: String)
    case other(AuthorityRequest)
  }

  var subject: Subject
  var id: UInt64
  var sentAt: Int64
  /// How many times it was asked again on the same connection.
  var repeats = 0

  var request: AuthorityRequest {
    switch subject {
    case .dispatch(let request, _): .dispatch(request)
    case .other(let request): request
    }
  }

  var isDispatch: Bool { if case .dispatch = subject { true } else { false } }

  /// When it is asked again; later every time, so that a slow authority is not flooded.
  var repeatAt: Int64 {
    sentAt + ExecutorTimes.answerMilliseconds << Int64(min(repeats, 3))
  }
}

/// A pause between questions.
struct Pause: Hashable, Sendable {
  /// On the clock that never steps.
  var until: Int64
  /// Whether a change to the queues ends the pause.
  var endsWithChange: Bool
  /// Whether the unanswered question is the renewal of the lease.
  var isForRenewal = false
}

/// A lease as its holder knows it.
struct HeldLease: Hashable, Sendable {
  var token: UInt64
  /// When the latest request was sent with which the authority confirmed it.
  var provenAt: Int64
}

/// An attempt that an agent works on.
struct ActiveRun: Hashable, Sendable {
  var order: StartOrder
  /// Whether the agent was the user's own when it got the prompt: see `StartMode.gated`.
  var isOfPerson: Bool
}

/// Attempts of a message in a row that ended with an unknown outcome.
struct SilentEnds: Hashable, Sendable {
  var message: MessageID
  var count: Int
}

/// An attempt on another device that blocks a session of this one.
package struct AttemptElsewhere: Hashable, Sendable {
  package var device: DeviceID
  package var atWork: AttemptAtWork
}

/// An attempt that is reported as in flight, and that this device has not begun.
struct RunLookup: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var token: UInt64
  /// Whether the authority answered that no other store runs it.
  var isLost = false
  /// Whether it was taken over.
  var isTakenOver = false

  func isSame(as other: RunLookup) -> Bool {
    message == other.message && attempt == other.attempt && token == other.token
  }
}
