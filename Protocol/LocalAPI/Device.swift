import Basics
package import QueueModel

/// About the daemon itself.
package struct DaemonAnswer: APIValue {
  package static let schemaName: String? = nil
  package static let notes: [String: Note] = [
    "page": .text("The address of the page; absent if the page is not served."),
    "diskFree": .text("Free bytes on the disk of the data directory."),
  ]

  package var version: String
  package var processID: Int
  package var startedAt: Timestamp
  package var dataDirectory: String
  package var diskFree: Int64?
  package var socket: String
  package var page: String?
  /// Whether the thread queue is turned on on this device.
  package var threadQueue: Bool
  package var queueSizeMax: Int

  package init(
    version: String, processID: Int, startedAt: Int64, dataDirectory: String, socket: String,
    threadQueue: Bool, queueSizeMax: Int
  ) {
    self.version = version
    self.processID = processID
    self.startedAt = Timestamp(startedAt)
    self.dataDirectory = dataDirectory
    self.socket = socket
    self.threadQueue = threadQueue
    self.queueSizeMax = queueSizeMax
  }
}

/// The state of the daemon and of sync, and counts.
package struct StatusAnswer: APIValue {
  package struct Counts: APIValue {
    package var sessions: Int
    package var messages: Int
    package var threads: Int
    /// Threads that are not locked.
    package var threadsReady: Int
    /// Requests that wait for an answer.
    package var awaited: Int
    /// Sessions with waiting messages that no device runs; absent if there are none.
    package var unhosted: [SessionID]?
    /// Sessions with waiting messages, assigned to this device, which has no agent; absent if there
    /// are none.
    package var agentless: [SessionID]?
  }

  package var daemon: DaemonAnswer
  package var sync: SyncAnswer
  /// When the oldest change was made that the server may lack.
  package var oldestUnsentAt: Timestamp?
  /// How many files of waiting messages the server may lack; absent if there are none.
  package var unsentFiles: Int?
  /// Why the server refused one of those files; absent if it refused none.
  package var unsentFilesProblem: String?
  /// When the certificate of the connected server expires; nil without TLS.
  package var certificateEndsAt: Timestamp?
  package var queues: Counts
  /// Sessions that another device assigned to this one, without permission from a user here.
  package var unconsented: [SessionID]
  /// The fault in the settings file on disk: it is not in effect, and the next start of the daemon
  /// would fail. Absent if there is none.
  package var settingsFault: String?

  package init(
    daemon: DaemonAnswer, sync: SyncStatus, oldestUnsentAt: Int64?, certificateEndsAt: Int64?,
    sessions: [SessionView], threads: ThreadQueueView, awaited: Int, agentless: [SessionID],
    unconsented: [SessionID]
  ) {
    self.daemon = daemon
    self.sync = SyncAnswer(sync)
    self.oldestUnsentAt = oldestUnsentAt.map(Timestamp.init)
    self.certificateEndsAt = certificateEndsAt.map(Timestamp.init)
    self.unconsented = unconsented
    let unhosted = sessions.filter { $0.waiting > 0 && $0.host == nil }.map(\.id)
    queues = Counts(
      sessions: sessions.count, messages: sessions.reduce(0) { $0 + $1.waiting },
      threads: threads.threads.count, threadsReady: threads.ready.count, awaited: awaited,
      unhosted: unhosted.isEmpty ? nil : unhosted, agentless: agentless.isEmpty ? nil : agentless)
  }

  /// The same without the sessions that must not be named.
  package func naming(_ isNamed: (SessionID) -> Bool) -> StatusAnswer {
    var answer = self
    func kept(_ names: [SessionID]?) -> [SessionID]? {
      names.map { $0.filter(isNamed) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    answer.queues.unhosted = kept(queues.unhosted)
    answer.queues.agentless = kept(queues.agentless)
    answer.unconsented = unconsented.filter(isNamed)
    answer.settingsFault = nil
    return answer
  }
}

/// The server with which a device was paired, and the device's rights there.
package struct PairingAnswer: APIValue {
  package static let schemaName: String? = "Pairing"

  package var workspace: WorkspaceID
  package var workspaceName: String
  package var device: DeviceID
  package var server: String
  /// As `sync.role` of the status.
  package var role: String?
  package var accessEndsAt: Timestamp?
  /// How many earlier changes the server now receives from a device that was paired before; absent
  /// if there are none.
  package var unsent: Int?
  /// Whether sync was off, and is now on again; absent if it was on.
  package var turnedOn: Bool?

  package init(_ result: PairingResult, access: SyncStatus? = nil) {
    workspace = result.workspace
    workspaceName = result.workspaceName
    device = result.device
    server = result.server
    role = access?.role
    accessEndsAt = access?.accessEndsAt.map(Timestamp.init)
  }
}

package struct PairServerRequest: APIValue {
  package static let schemaName: String? = "PairRequest"

  package var server: String
  package var code: String
  /// Whether the server may be reached without encryption, at any address; false if absent.
  package var insecure: Bool?

  package init(server: String, code: String, insecure: Bool? = nil) {
    self.server = server
    self.code = code
    self.insecure = insecure
  }
}

package struct MoveServerRequest: APIValue {
  package var server: String
  /// Whether the server may be reached without encryption, at any address; false if absent.
  package var insecure: Bool?

  package init(server: String, insecure: Bool? = nil) {
    self.server = server
    self.insecure = insecure
  }
}

package struct PairingCodeRequest: APIValue {
  package static let notes: [String: Note] = [
    "role": .choice(DeviceRole.allCases.map(\.name)), "accessSeconds": .range(1...accessSecondsMax),
  ]
  /// A hundred years.
  package static let accessSecondsMax = 36_500 * 86_400

  /// The role of the new device; host by default.
  package var role: String?
  /// How long its access lasts; by default as long as this device's.
  package var accessSeconds: Int?

  package init(role: String? = nil, accessSeconds: Int? = nil) {
    self.role = role
    self.accessSeconds = accessSeconds
  }
}

/// A one-time code for a new device.
package struct PairingCodeAnswer: APIValue {
  package static let notes: [String: Note] = [
    "expiresAt": .time, "qr": .text("A QR code of the command as rows, with 1 for dark."),
  ]

  package var code: String
  package var server: String
  package var role: String
  /// The command to type on the new device.
  package var command: String
  /// Why the command may fail there as it is; absent if it works.
  package var hint: String?
  package var qr: [String]?
  package var expiresAt: String

  package init(
    code: String, server: String, role: String, command: String, hint: String?, qr: [String]?,
    expiresAt: Int64
  ) {
    self.code = code
    self.server = server
    self.role = role
    self.command = command
    self.hint = hint
    self.qr = qr
    self.expiresAt = ISOTime.text(milliseconds: expiresAt)
  }
}

package struct SyncRequest: APIValue {
  package var enabled: Bool

  package init(enabled: Bool) { self.enabled = enabled }
}

package struct WaitRequest: APIValue {
  package static let secondsMax = 86_400
  package static let notes = ["timeoutSeconds": Note.range(0...secondsMax)]

  package var timeoutSeconds: Double

  package init(timeoutSeconds: Double) { self.timeoutSeconds = timeoutSeconds }
}

/// The result of sending a frame of the maximum size to the server, which returns it.
package struct ProbeAnswer: APIValue {
  package enum Outcome: String, Codable, CaseIterable, Hashable, Sendable {
    case returned
    /// The connection ended meanwhile.
    case connectionEnded
    /// It has not been returned yet.
    case late
  }

  package static let notes: [String: Note] = ["outcome": .choice(Outcome.allCases.map(\.rawValue))]

  package var outcome: Outcome
  /// The size of the frame, and how long the client waited for it.
  package var bytes: Int
  package var milliseconds: Int

  package init(outcome: Outcome, bytes: Int, milliseconds: Int) {
    self.outcome = outcome
    self.bytes = bytes
    self.milliseconds = milliseconds
  }
}

/// The answer to `sync wait`.
package struct SyncedAnswer: APIValue {
  package var synced: Bool

  package init(synced: Bool) { self.synced = synced }
}

/// The body of every refusal.
package struct RefusalAnswer: APIValue {
  package struct Details: APIValue {
    package static let notes: [String: Note] = [
      "code": .text("Stable, for programs."), "message": .text("What happened, and what to do."),
      "exitCode": .text("The exit code of `cospool`."),
    ]

    package var code: String
    package var message: String
    package var exitCode: Int
    package var candidates: [String]?
    package var current: CurrentAnswer?

    package init(
      code: String, message: String, exitCode: Int, candidates: [String]? = nil,
      current: CurrentAnswer? = nil
    ) {
      self.code = code
      self.message = message
      self.exitCode = exitCode
      self.candidates = candidates
      self.current = current
    }
  }

  package var error: Details

  package init(error: Details) { self.error = error }
}

/// The state that conflicts with a request: only the fields that the refusal needs.
package struct CurrentAnswer: APIValue {
  package var queue: QueueAnswer?
  package var message: MessageAnswer?
  package var sync: SyncAnswer?
  package var undo: UndoAnswer?

  package init(
    queue: QueueAnswer? = nil, message: MessageAnswer? = nil, sync: SyncStatus? = nil,
    undo: UndoAnswer? = nil
  ) {
    self.queue = queue
    self.message = message
    self.sync = sync.map(SyncAnswer.init)
    self.undo = undo
  }
}
