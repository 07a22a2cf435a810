import Basics
package import QueueModel

/// The change to undo.
package struct UndoRequest: APIValue {
  /// The number in the answer that made the change: only that change, whether or not it is the
  /// latest. Without it, the latest change by this device.
  package var change: Int64?
  /// Leaves the change as it is, and forgets how to undo it.
  package var skip: Bool?

  package init(change: Int64? = nil, skip: Bool? = nil) {
    self.change = change
    self.skip = skip
  }
}

/// The change to redo.
package struct RedoRequest: APIValue {
  /// The number in the answer of its undo. Without it, the latest undone change.
  package var change: Int64?

  package init(change: Int64? = nil) { self.change = change }
}

/// Why a change, or a part of it, is not undone.
package struct UndoObstacleAnswer: APIValue {
  package static let notes: [String: Note] = [
    "reason": .choice([
      "started", "late", "ended", "overtaken", "needsCommand", "apart", "rewritten", "final",
    ]),
    "command": .text("The shell command that reverses it."),
  ]

  package var reason: String
  /// The reason in words.
  package var note: String
  package var command: String?

  package init(_ obstacle: UndoObstacle) {
    reason = obstacle.code
    note = obstacle.description
    command = obstacle.command
  }
}

/// The effects of an undo and a redo, in words.
package struct UndoAnswer: APIValue {
  /// The next undo or the next redo.
  package struct Next: APIValue {
    package static let notes = ["at": Note.time]

    /// The value for `change`.
    package var change: Int64
    /// The description of the change: "sending …".
    package var what: String
    /// The beginning of the message's text, if the change is about one.
    package var text: String?
    package var session: SessionID?
    /// When it was done.
    package var at: String
    /// Whether another device has worked on its messages since.
    package var shared: Bool
    /// Why it cannot be undone; absent if it can.
    package var obstacle: UndoObstacleAnswer?
    /// Sessions that it would pause, so that nothing starts; absent if there are none.
    package var pausing: [SessionID]?
    /// Parts that it would not change; absent if there are none.
    package var leaving: [UndoObstacleAnswer]?

    package init(_ next: UndoNext) {
      change = next.change
      what = next.label.description
      text = next.label.text
      session = next.label.session
      at = ISOTime.text(milliseconds: next.milliseconds)
      shared = next.isShared
      obstacle = next.obstacle.map(UndoObstacleAnswer.init)
      pausing = next.pausing.isEmpty ? nil : next.pausing
      leaving = next.leaving.isEmpty ? nil : next.leaving.map(UndoObstacleAnswer.init)
    }
  }

  package var undo: Next?
  package var redo: Next?
  package var undoCount: Int
  package var redoCount: Int

  package init(undo: UndoNext?, redo: UndoNext?, undoCount: Int, redoCount: Int) {
    self.undo = undo.map(Next.init)
    self.redo = redo.map(Next.init)
    self.undoCount = undoCount
    self.redoCount = redoCount
  }
}

/// Changes and their authors, the newest first.
package struct HistoryAnswer: APIValue {
  package struct Entry: APIValue {
    package static let notes = ["at": Note.time]

    /// When, on the author's clock; absent if unknown.
    package var at: String?
    /// The name of the device; absent if it is not known yet.
    package var device: String?
    /// A stable name of the event.
    package var action: String
    /// The event in words.
    package var what: String
    package var session: SessionID?
    package var message: MessageID?
    /// The operations: author, first and last.
    package var replica: String
    package var first: UInt32
    package var last: UInt32
  }

  /// The output of the latest attempt, if the agent ran here and one message was requested.
  package var output: OutputAnswer?
  /// The device that has the output of its attempts, if it is another one.
  package var outputDevice: String?
  /// The message now, if one was requested; known even if the log begins later.
  package var message: MessageAnswer?
  package var entries: [Entry]
  /// The value of `before` for older entries; absent at the end of the log.
  package var next: String?

  package init(_ page: HistoryPage) {
    entries = page.entries.map { entry in
      Entry(
        at: entry.milliseconds.map(ISOTime.text(milliseconds:)),
        device: entry.device?.name, action: entry.action.name, what: entry.action.description,
        session: entry.session, message: entry.message,
        replica: entry.replicaName, first: entry.firstSeq, last: entry.lastSeq)
    }
    next = page.next?.description
  }
}

/// The answer to an import.
package struct ImportedAnswer: APIValue {
  package var sessions: Int
  package var messages: Int
  /// Messages that existed already.
  package var known: Int
  package var threads: Int
  /// Messages that were started before the export; their sessions, `held`, are paused. Absent if
  /// there are none.
  package var started: Int?
  package var held: [SessionID]?
  /// Messages that wait for one which is neither in the document nor on this device. Absent if
  /// there are none.
  package var inVain: Int?
  /// The names of its files that are missing on this device, because a document contains none.
  /// Absent if there are none.
  package var missingFiles: [String]?
  /// Whether the document was only checked.
  package var dryRun: Bool

  package init(_ counts: ImportCounts, isTrial: Bool) {
    sessions = counts.sessions
    messages = counts.messages
    known = counts.known
    threads = counts.threads
    started = counts.started == 0 ? nil : counts.started
    held = counts.held.isEmpty ? nil : counts.held.sorted { $0.rawValue < $1.rawValue }
    inVain = counts.inVain == 0 ? nil : counts.inVain
    missingFiles = counts.missingFiles.isEmpty ? nil : counts.missingFiles
    dryRun = isTrial
  }
}
