import DispatchAuthority
package import QueueModel
package import WireProtocol

/// What an executor knows of one session: three machines beside each other, and what they remember.
///
/// ```text
/// lease       none ──claim, leased──▶ held ──not confirmed for 20 s──▶ lapsed ──leased again──▶ held
///              ▲                       │                                 │
///              └── released, fenced, ──┴──── somebody else had one ──────┘
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
/// A lease is renewed while an agent runs, and an agent runs on while its lease is asked for, or
/// has lapsed, so the three are not one. `next` is the request that the authority answers when a
/// message may start.
struct SessionRun: Hashable, Sendable {
  let session: SessionID
  var lease = Lease.none
  var question = Question.silent
  var next = NextRequest.none
  var work = Work.none
  var times = Times()
  var past = Past()

  /// Failures that are counted; more make no longer wait.
  static let failuresMax = 10

  init(session: SessionID) {
    self.session = session
  }

  /// Whether this device may run the session's messages.
  enum Lease: Hashable, Sendable {
    case none
    /// Nobody confirmed it for too long. Where nobody else got one, it goes on, and what was let out
    /// under it may be asked for.
    case lapsed(token: UInt64)
    /// The authority confirmed it with the answer to a request that was sent at `provenAt`.
    case held(HeldLease)
  }

  /// What the authority is asked, and when it is asked again.
  enum Question: Hashable, Sendable {
    case silent
    /// It has not answered yet; the pause comes after the answer.
    case asking(Asking, then: Pause?)
    /// Nothing but a renewal is asked before a time.
    case paused(Pause)
  }

  /// A request that the authority answers when the session's first message may start; an answer to
  /// one that is being taken back is given back.
  enum NextRequest: Hashable, Sendable {
    case none
    /// `token` is that of the lease it was asked under. `overdueSince`: since when a message may start
    /// here that the authority has not let out.
    case waiting(id: UInt64, token: UInt64, overdueSince: Int64?)
    /// `withdrawal` is the number of the request that takes it back.
    case withdrawing(id: UInt64, token: UInt64, withdrawal: UInt64)
  }

  /// An agent at work.
  enum Work: Hashable, Sendable {
    case none
    case running(ActiveRun)
    /// It was told to stop, and has not ended.
    case stopping(ActiveRun, StopReason)
  }

  /// Times to wait for.
  struct Times: Hashable, Sendable {
    /// No start before this time: the agent could not be started a moment ago.
    var backoffUntil: Int64?
    /// When the head may start, in milliseconds since 1970.
    var wakeAtWall: Int64?
    /// Since when nothing is to be run under the lease.
    var idleSince: Int64?
  }

  /// What came of earlier questions and attempts.
  struct Past: Hashable, Sendable {
    /// The last attempt that ended here; its report may not be stored yet.
    var lastEnded: StartOrder?
    /// The attempt whose whereabouts were asked for last.
    var sought: RunLookup?
    /// What keeps the session on another device, by the authority's latest answer.
    var runsElsewhere: AttemptElsewhere?
    var silentEnds: SilentEnds?
    /// Questions in a row that were answered with no.
    var failures = 0
    /// Starts in a row that failed.
    var spawnFailures = 0
  }
}

/// Why an agent is being stopped.
enum StopReason: Hashable, Sendable {
  /// Another store has a later lease, or somebody took the attempt over.
  case fenced
  /// The server did not answer for too long, and the session says to stop then.
  case serverLost
  case drained
  case person
  /// Its session was deleted.
  case deleted

  /// Whether somebody wants it to end for good.
  var isFinal: Bool { self == .person || self == .deleted }
}

/// A question that waits for its answer.
struct Asking: Hashable, Sendable {
  enum Subject: Hashable, Sendable {
    /// Whether a message may start, with the text that its agent gets then.
    case dispatch(DispatchRequest, text: String)
    case other(AuthorityRequest)
  }

  var subject: Subject
  var id: UInt64
  var sentAt: Int64
  /// How often it was asked again on the same connection.
  var repeats = 0

  var request: AuthorityRequest {
    switch subject {
    case .dispatch(let request, _): .dispatch(request)
    case .other(let request): request
    }
  }

  var isDispatch: Bool { if case .dispatch = subject { true } else { false } }

  /// When it is asked again; later every time, so that a slow authority is not buried in questions.
  var repeatAt: Int64 {
    sentAt + ExecutorTimes.answerMilliseconds << Int64(min(repeats, 3))
  }
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

/// An attempt that an agent works on.
struct ActiveRun: Hashable, Sendable {
  var order: StartOrder
  /// Whether the agent was a person's own when it got the prompt: see `StartMode.gated`.
  var isOfPerson: Bool
}

/// Attempts of a message that ended in a row with nobody saying how they went.
struct SilentEnds: Hashable, Sendable {
  var message: MessageID
  var count: Int
}

/// An attempt that keeps a session of this device on another one.
package struct AttemptElsewhere: Hashable, Sendable {
  package var device: DeviceID
  package var atWork: AttemptAtWork
}

/// An attempt that is said to be in flight, and that nothing here has begun.
struct RunLookup: Hashable, Sendable {
  var message: MessageID
  var attempt: UInt16
  var token: UInt64
  /// The authority says that no other store runs it.
  var isLost = false
  /// Somebody took it over.
  var isTakenOver = false

  func isSame(as other: RunLookup) -> Bool {
    message == other.message && attempt == other.attempt && token == other.token
  }
}
