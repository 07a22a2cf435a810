/// The requests that a paired browser may send to the page's listener; everything else needs access
/// to the machine.
extension Route {
  package enum BrowserAccess: Hashable, Sendable {
    /// Never.
    case refused
    /// As the user.
    case allowed
    /// Without a key, too: the browser has none yet, or has not sent it yet.
    case keyless
    /// As the user, with files in the request itself; it must not name a file of the machine.
    case ownFiles
    /// With one of the agents that the machine's user lets browsers choose.
    case agent
  }

  package var browserAccess: BrowserAccess { Route.browserAccesses[id] ?? .refused }

  private static let browserAccesses: [String: BrowserAccess] = [
    "redeemTicket": .keyless, "proveListener": .keyless,
    "send": .ownFiles, "attach": .ownFiles,
    "setAgent": .agent, "unsetAgent": .agent,
  ].merging(read.union(changed).map { ($0, BrowserAccess.allowed) }) { $1 }

  /// Routes that only read.
  private static let read: Set<String> = [
    "describe", "readStatus", "readEvents", "readEventsShortly", "readOverview", "readInbox",
    "listQueues", "listSessions", "readSession", "listQueue", "listMessages", "listUnsentMessages",
    "readMessage",
    "listThreads", "readThreadStatistics", "readThread", "readUndo", "readHistory", "listSettings",
    "readSetting", "listActivity", "readActivity", "listDrafts", "readDraft", "listAttachments",
    "readAttachment", "readExecution", "readOutput", "readSessionOutput", "readAgent", "listTasks",
    "readTask",
    "listNotifications", "listPushTargets", "readWeb",
  ]

  /// Routes that change queues, threads, drafts and notifications; the device that runs a session;
  /// the connection to the server; and access, which ends with the browser or is listed when the
  /// browser is revoked.
  private static let changed: Set<String> = [
    "addSession", "renameSession", "deleteSession", "archive", "unarchive", "clearQueue", "pause",
    "resume",
    "edit", "resolve", "setPriority", "restore", "retry", "start", "setLater", "setNeeds", "skip",
    "cancel", "move", "hold", "release",
    "detach",
    "viewNextThread", "addThreads", "requeueThread", "moveThreads", "clearThreads", "removeThreads",
    "viewThread", "moveThread", "unlockThread", "undo", "redo",
    "keepDraft", "clearDraft", "sendDraft",
    "setHost", "stopAgent", "takeOver", "answer",
    "dismissNotifications", "setVisibility", "testPushTarget", "removePushTarget",
    "switchSync", "syncNow", "waitForSync",
    "makePairingCode", "makeTicket", "renameBrowser", "revokeBrowser",
  ]
}
