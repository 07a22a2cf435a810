/// The daemon's answers, as far as text for people is made of them. With `--json` they pass
/// through as they came, so a newer daemon may say more than is known here.

struct SentAnswer: Decodable {
  var id: String
  var session: String
  var status: String
  var position: Int
  var count: Int
  var warning: String?
}

struct MessageAnswer: Decodable {
  var id: String
  var session: String?
  var content: String
  var priority: String
  var status: String
  var position: Int
  var createdAt: String
  var device: String?
  var project: String?
  var attempts: Int?
  var lastError: String?
  var delivery: String?
  var attachments: [AttachmentAnswer]?
}

struct QueueListAnswer: Decodable {
  var session: String
  var paused: Bool
  var pauseReasons: [String]?
  var messages: [MessageAnswer]
  var currentError: String?
}

struct ThreadListAnswer: Decodable {
  struct Thread: Decodable {
    var session: String
    var name: String
    var project: String
    var position: Int
    var queuedAt: String
    var locked: Bool
    var awaits: String?
  }

  var enabled: Bool?
  var threads: [Thread]
}

struct ThreadVisitAnswer: Decodable {
  var thread: ThreadListAnswer.Thread?
  var waiting: Int
  var removed: Bool
}

struct ThreadStatisticsAnswer: Decodable {
  var enabled: Bool
  var count: Int
  var ready: Int
  var locked: Int
  var oldestQueuedAt: String?
  var reviewSeconds: Int64?
  var estimateSeconds: Int64?
  var reviews: Int
}

struct SessionListAnswer: Decodable {
  struct Session: Decodable {
    var id: String
    var name: String
    var project: String
    var paused: Bool
    var waiting: Int
    var threadPosition: Int?
    var locked: Bool
  }

  var sessions: [Session]
}

struct ReceiptAnswer: Decodable {
  var result: String
  var position: Int?
  var count: Int?
  var what: String?
  var outcomes: [CancelAnswer]?
  var unconfirmed: Bool?
}

struct CancelAnswer: Decodable {
  var id: String
  var outcome: String
}

struct HostAnswer: Decodable {
  var session: String
  var name: String?
  var warning: String?
}

struct StopAnswer: Decodable {
  var stopped: Bool
}

struct UndoStateAnswer: Decodable {
  var undo: String?
  var redo: String?
  var undoCount: Int
  var redoCount: Int
}

struct HistoryAnswer: Decodable {
  struct Entry: Decodable {
    var at: String?
    var estimated: Bool
    var device: String?
    var what: String
    var session: String?
    var message: String?
  }

  struct Output: Decodable {
    var attempt: Int
    var text: String
    var truncated: Bool
  }

  var entries: [Entry]
  var next: String?
  var output: Output?
}

struct ImportedAnswer: Decodable {
  var sessions: Int
  var messages: Int
  var known: Int
  var threads: Int
  var dryRun: Bool
}

struct PairedAnswer: Decodable {
  var server: String
  var workspaceName: String
}

struct StatusAnswer: Decodable {
  struct Daemon: Decodable {
    var version: String
    var processID: Int
    var dataDirectory: String
    var threadQueue: Bool
  }

  struct Sync: Decodable {
    struct Device: Decodable {
      var name: String
      var connected: Bool
      var seenEverything: Bool
    }

    var state: String
    var server: String?
    var workspace: String?
    var device: String
    var deviceName: String
    var outgoing: Int
    var lastError: String?
    var refusalCode: String?
    var connectedSince: Int64?
    var lastSyncedAt: Int64?
    var retryAfterMilliseconds: Int64?
    var devices: [Device]
    var repairs: Int
  }

  struct Queues: Decodable {
    var sessions: Int
    var messages: Int
    var threads: Int
    var threadsReady: Int
    var awaited: Int?
  }

  var daemon: Daemon
  var sync: Sync
  var queues: Queues
}
