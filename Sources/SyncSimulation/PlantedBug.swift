/// Bugs that the simulation can plant between the production cores and their world, to show that
/// the checkers find them. Bugs inside the cores are patches beside the tests.
package enum PlantedBug: String, Hashable, Sendable, CaseIterable, Comparable {
  /// The server's store reports a batch as durable before it is.
  case ackBeforeFsync = "ack-before-fsync"
  /// A device's store loses its latest commits when the machine loses power.
  case commitBeforeFsync = "commit-before-fsync"
  /// A device considers a batch acknowledged as soon as it is sent.
  case outboxClearedAtSend = "outbox-cleared-at-send"
  /// The server accepts stamps arbitrarily far ahead of its clock.
  case stampClampOff = "stamp-clamp-off"
  /// Observers do not receive moves.
  case moveEventMissing = "move-event-missing"
  /// A device that restarts has lost the operations that the server lacks.
  case unsentForgotten = "unsent-forgotten"
  /// The fan-out of a batch misses one of its receivers.
  case fanOutSkipsOne = "fan-out-skips-one"
  /// Agents get the prompts again that they had when their host died.
  case intentsRunAgain = "intents-run-again"
  /// Agents start as soon as their intents are stored, before the disk has them.
  case startBeforeFsync = "start-before-fsync"
  /// Agents receive the decisions about their requests twice.
  case decidesTwice = "decides-twice"
  /// Retracted notifications stay on the screen.
  case retractionLost = "retraction-lost"
  /// A device drops some notifications, and acknowledges the following ones.
  case notificationDropped = "notification-dropped"
  /// A device that restarts does not know which notifications it got.
  case notificationsForgotten = "notifications-forgotten"
  /// Notifications that a device does not acknowledge are never pushed to it.
  case pushNeverDue = "push-never-due"
  /// A device takes any answer of the server as the confirmation that a change was in time, whether
  /// or not the server has the change.
  case silenceIsConsent = "silence-is-consent"
  /// A device that shows something other than the agent's request approves the content of the
  /// register.
  case approvedUnseen = "approved-unseen"
  /// Sessions that an undo paused to prevent starts continue.
  case undoStarts = "undo-starts"
  /// Offline devices undo as if they were connected.
  case undoStartsApart = "undo-starts-apart"
  /// An undo removes its session, even if messages ran there.
  case undoTakesHistory = "undo-takes-history"
  /// A device settles merged texts by itself.
  case mergedUnseen = "merged-unseen"
  /// An undo leaves a text that no user wrote, and no version shows that.
  case undoneUnwritten = "undone-unwritten"
  /// A device starts messages whose needs can no longer succeed.
  case needsForgotten = "needs-forgotten"
  /// The store compares no marks.
  case markIgnored = "mark-ignored"
  /// The mark of a workspace changes only with the node that serves it.
  case markKept = "mark-kept"
  /// A node that takes a workspace back continues with its old knowledge.
  case takeUnread = "take-unread"
  /// The feed of taken workspaces misses some.
  case feedMisses = "feed-misses"
  /// A node pushes notifications of workspaces that another node serves.
  case pushByNonOwner = "push-by-non-owner"

  /// A description of the bug.
  package var about: String {
    switch self {
    case .ackBeforeFsync: "the server's store reports a batch as durable before it is"
    case .commitBeforeFsync: "a device reports a command as done before its commit is on the disk"
    case .outboxClearedAtSend: "sent operations leave the outbox before they are acknowledged"
    case .stampClampOff: "the server accepts stamps however far ahead of its clock they are"
    case .moveEventMissing: "observers do not receive moves"
    case .unsentForgotten: "a restart loses the operations that the server lacks"
    case .intentsRunAgain: "agents get the prompts of a dead host again (with agents)"
    case .startBeforeFsync: "agents start before the disk has their intents (with agents)"
    case .decidesTwice: "agents receive decisions twice (with requests)"
    case .retractionLost: "retracted notifications stay on the screen (with requests)"
    case .notificationDropped: "a device drops some notifications (with requests)"
    case .notificationsForgotten:
      "a restart loses the received notifications (with requests)"
    case .pushNeverDue: "notifications without an acknowledgement are never pushed (with requests)"
    case .silenceIsConsent:
      "a change counts as in time unless the server denies it, even if it lacks the change (with outcomes)"
    case .approvedUnseen:
      "a device approves a request that it does not show (with requests)"
    case .undoStarts: "messages that an undo restores start (with agents)"
    case .undoStartsApart:
      "an undo on an offline device lets unknown messages start (with agents)"
    case .undoTakesHistory: "an undo removes a session with its history (with agents)"
    case .mergedUnseen: "a device settles merged texts by itself"
    case .undoneUnwritten: "an undo leaves a text that no one wrote (with agents)"
    case .needsForgotten:
      "a device lets messages start that wait for one that came to nothing (with agents)"
    case .markIgnored: "the store compares no marks (nodes)"
    case .markKept: "the mark of a workspace changes only with its node (nodes)"
    case .takeUnread: "a node that takes a workspace back does not read it again (nodes)"
    case .feedMisses: "the feed of taken workspaces misses some (nodes)"
    case .pushByNonOwner: "nodes push what another node serves (nodes, with requests)"
    case .fanOutSkipsOne: "the fan-out of a batch misses one of its receivers"
    }
  }

  /// Whether it appears only if agents ask and users are notified.
  package var needsRequests: Bool {
    switch self {
    case .decidesTwice, .retractionLost, .notificationDropped, .notificationsForgotten,
      .pushNeverDue, .approvedUnseen, .pushByNonOwner:
      true
    default: false
    }
  }

  /// Whether it appears only if users ask whether a withdrawal or an edit was in time.
  package var needsOutcomes: Bool { self == .silenceIsConsent }

  /// Whether it appears only if hosts run messages.
  package var needsAgents: Bool {
    needsRequests || needsOutcomes || self == .intentsRunAgain || self == .startBeforeFsync
      || self == .undoStarts || self == .undoStartsApart || self == .undoTakesHistory
      || self == .undoneUnwritten || self == .needsForgotten
  }

  /// Whether it appears only with several nodes.
  package var needsNodes: Bool {
    switch self {
    case .markIgnored, .markKept, .takeUnread, .feedMisses, .pushByNonOwner: true
    default: false
    }
  }

  /// Whether random seeds almost never find it, so that the tests make a world for it.
  package var needsGivenWorld: Bool { self == .silenceIsConsent || self == .pushNeverDue }

  package static func < (left: PlantedBug, right: PlantedBug) -> Bool {
    left.rawValue < right.rawValue
  }
}
