/// What a browser that was let in may ask over the page's listener: all else is done at the machine.
extension Route {
  package enum BrowserAccess: Hashable, Sendable {
    /// Nothing of it.
    case refused
    /// As its person.
    case allowed
    /// Without a key, too: the browser has none yet, or does not show it yet.
    case keyless
    /// As its person, with files that the request brings: it names none of the machine.
    case ownFiles
    /// With one of the agents that the machine's person lets browsers choose.
    case agent
  }

  package var browserAccess: BrowserAccess { Route.browserAccesses[id] ?? .refused }

  private static let browserAccesses: [String: BrowserAccess] = [
    "redeemTicket": .keyless, "proveListener": .keyless,
    "send": .ownFiles, "attach": .ownFiles,
    "setAgent": .agent, "unsetAgent": .agent,
  ].merging(read.union(changed).map { ($0, BrowserAccess.allowed) }) { $1 }

  /// What tells, and changes nothing.
  private static let read: Set<String> = [
    "describe", "readStatus", "readEvents", "readEventsShortly", "readOverview", "listQueues",
    "listSessions", "readSession", "listQueue", "listMessages", "listUnsentMessages", "readMessage",
    "listThreads", "readThreadStatistics", "readThread", "readUndo", "readHistory", "listSettings",
    "readSetting", "listActivity", "readActivity", "listDrafts", "readDraft", "listAttachments",
    "readAttachment", "readExecution", "readOutput", "readAgent", "listTasks", "readTask",
    "listNotifications", "listPushTargets", "readWeb",
  ]

  /// What changes queues, threads, drafts and notifications; which device runs a session; the connection to the
  /// server; and who may come in, which ends with the browser or is named when that is revoked.
  private static let changed: Set<String> = [
    "addSession", "renameSession", "deleteSession", "clearQueue", "pause", "resume",
    "edit", "resolve", "setPriority", "restore", "retry", "start", "skip", "cancel", "move",
    "hold", "release",
    "detach",
    "viewNextThread", "addThreads", "requeueThread", "moveThreads", "clearThreads", "removeThreads",
    "viewThread", "moveThread", "unlockThread", "undo", "redo",
    "keepDraft", "clearDraft", "sendDraft",
    "setHost", "stopAgent", "answer",
    "dismissNotifications", "setVisibility", "testPushTarget", "removePushTarget",
    "switchSync", "syncNow", "waitForSync",
    "makePairingCode", "makeTicket", "revokeBrowser",
  ]
}
