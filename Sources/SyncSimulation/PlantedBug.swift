/// Bugs that the simulation can put between the production cores and their world, to show that the
/// checkers find them. Those inside the cores are patches beside the tests.
package enum PlantedBug: String, Hashable, Sendable, CaseIterable, Comparable {
  /// The server's store says a batch is durable before it is.
  case ackBeforeFsync = "ack-before-fsync"
  /// A device's store loses its latest commits when the machine loses power.
  case commitBeforeFsync = "commit-before-fsync"
  /// A device takes a batch for acknowledged as soon as it is sent.
  case outboxClearedAtSend = "outbox-cleared-at-send"
  /// The server takes stamps however far ahead of its clock they are.
  case stampClampOff = "stamp-clamp-off"
  /// Observers are not told of moves.
  case moveEventMissing = "move-event-missing"
  /// A device that starts again has lost what the server did not have yet.
  case unsentForgotten = "unsent-forgotten"
  /// A batch that fans out misses one of its receivers.
  case fanOutSkipsOne = "fan-out-skips-one"
  /// What agents had when a host died is handed to them again.
  case intentsRunAgain = "intents-run-again"
  /// Agents begin as soon as their intents are stored, before the disk has them.
  case startBeforeFsync = "start-before-fsync"
  /// Agents are told twice of what they asked.
  case decidesTwice = "decides-twice"
  /// What is taken back stays on the screen.
  case retractionLost = "retraction-lost"
  /// A device does not take some notifications, and answers for those that follow.
  case notificationDropped = "notification-dropped"
  /// A device that starts again does not know what it was told of.
  case notificationsForgotten = "notifications-forgotten"
  /// What a device does not answer for in time is never pushed to it.
  case pushNeverDue = "push-never-due"
  /// A device takes any answer of the server for the word that a change was in time, whether or not
  /// the server has the change.
  case silenceIsConsent = "silence-is-consent"
  /// A device that shows something else than an agent asks for says yes to what the register says.
  case approvedUnseen = "approved-unseen"
  /// Sessions that an undo paused so that nothing starts go on.
  case undoStarts = "undo-starts"
  /// Devices that are apart from the server undo as if they were not.
  case undoStartsApart = "undo-starts-apart"
  /// An undo takes the session with it, whatever ran there.
  case undoTakesHistory = "undo-takes-history"
  /// A device settles merged texts by itself.
  case mergedUnseen = "merged-unseen"
  /// What an undo leaves of a text is one that nobody wrote, and no version says so.
  case undoneUnwritten = "undone-unwritten"

  /// What is wrong, in words.
  package var about: String {
    switch self {
    case .ackBeforeFsync: "the server's store says that a batch is durable before it is"
    case .commitBeforeFsync: "a device answers before its commit is on the disk"
    case .outboxClearedAtSend: "what is sent leaves the outbox before it is acknowledged"
    case .stampClampOff: "the server takes stamps however far ahead of its clock they are"
    case .moveEventMissing: "observers are not told of moves"
    case .unsentForgotten: "what the server does not have yet is forgotten at a restart"
    case .intentsRunAgain: "agents get again what they had when their host died (with agents)"
    case .startBeforeFsync: "agents begin before the disk has their intents (with agents)"
    case .decidesTwice: "agents are told twice of what they asked (with requests)"
    case .retractionLost: "what is taken back stays on the screen (with requests)"
    case .notificationDropped: "a device does not take some notifications (with requests)"
    case .notificationsForgotten:
      "what a device was told of is forgotten at a restart (with requests)"
    case .pushNeverDue: "what a device does not answer for is never pushed (with requests)"
    case .silenceIsConsent:
      "a change is in time unless the server says no, whether or not it has the change (with outcomes)"
    case .approvedUnseen:
      "a device says yes to what it does not show (with requests)"
    case .undoStarts: "an undo lets start what it brings back (with agents)"
    case .undoStartsApart:
      "an undo lets start what a device that is apart did not know of (with agents)"
    case .undoTakesHistory: "an undo takes a session with its history away (with agents)"
    case .mergedUnseen: "a device settles merged texts by itself"
    case .undoneUnwritten: "an undo leaves a text that nobody wrote (with agents)"
    case .fanOutSkipsOne: "a batch that fans out misses one of its receivers"
    }
  }

  /// Whether it shows only where agents ask and people are notified.
  package var needsRequests: Bool {
    switch self {
    case .decidesTwice, .retractionLost, .notificationDropped, .notificationsForgotten,
      .pushNeverDue, .approvedUnseen:
      true
    default: false
    }
  }

  /// Whether it shows only where people ask whether a withdrawal or an edit was in time.
  package var needsOutcomes: Bool { self == .silenceIsConsent }

  /// Whether it shows only where hosts run what waits.
  package var needsAgents: Bool {
    needsRequests || needsOutcomes || self == .intentsRunAgain || self == .startBeforeFsync
      || self == .undoStarts || self == .undoStartsApart || self == .undoTakesHistory
      || self == .undoneUnwritten
  }

  /// Whether seeds as good as never find it: the tests make a world for it.
  package var needsGivenWorld: Bool { self == .silenceIsConsent || self == .pushNeverDue }

  package static func < (left: PlantedBug, right: PlantedBug) -> Bool {
    left.rawValue < right.rawValue
  }
}
