import Basics
package import QueueModel

/// Which change an undo is about.
package struct UndoRequest: APIValue {
  /// As the answer that made it told: that change alone, the latest or not. Without it, the latest change
  /// of this device.
  package var change: Int64?
  /// Leaves the change as it is and forgets it.
  package var skip: Bool?

  package init(change: Int64? = nil, skip: Bool? = nil) {
    self.change = change
    self.skip = skip
  }
}

/// Which change a redo is about.
package struct RedoRequest: APIValue {
  /// As the answer of its undo told. Without it, what was undone last.
  package var change: Int64?

  package init(change: Int64? = nil) { self.change = change }
}

/// Why a change, or a part of it, is not taken back.
package struct UndoObstacleAnswer: APIValue {
  package static let notes: [String: Note] = [
    "reason": .choice([
      "started", "late", "ended", "overtaken", "needsCommand", "apart", "rewritten", "final",
    ]),
    "command": .text("The shell command that reverses it."),
  ]

  package var reason: String
  /// The same in words.
  package var note: String
  package var command: String?

  package init(_ obstacle: UndoObstacle) {
    reason = obstacle.code
    note = obstacle.description
    command = obstacle.command
  }
}

/// What an undo and a redo would do, in words.
package struct UndoAnswer: APIValue {
  /// One of both.
  package struct Next: APIValue {
    package static let notes = ["at": Note.time]

    /// For `change`.
    package var change: Int64
    /// What was done: "sending …".
    package var what: String
    /// The beginning of the message's text, if the change is about one.
    package var text: String?
    package var session: SessionID?
    /// When it was done.
    package var at: String
    /// Whether somebody else has worked on its messages since.
    package var shared: Bool
    /// Why it is not undone; left out if nothing is in the way.
    package var obstacle: UndoObstacleAnswer?
    /// Sessions that it would pause, so that nothing starts; left out if there are none.
    package var pausing: [SessionID]?
    /// Parts that it would leave as they are; left out if there are none.
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

/// Who changed what, the newest first.
package struct HistoryAnswer: APIValue {
  package struct Entry: APIValue {
    package static let notes = ["at": Note.time]

    /// When, on the author's clock; left out where nothing tells.
    package var at: String?
    /// The name of the device; left out where it is not known yet.
    package var device: String?
    /// A stable name of what happened.
    package var action: String
    /// What happened, in words.
    package var what: String
    package var session: SessionID?
    package var message: MessageID?
    /// The operations: author, first and last.
    package var replica: String
    package var first: UInt32
    package var last: UInt32
  }

  /// What the latest attempt wrote, if the agent ran here and one message was asked for.
  package var output: OutputAnswer?
  /// The device that has what its attempts wrote, if that is another one.
  package var outputDevice: String?
  /// The message as it is now, if one was asked for: known longer than the log reaches back.
  package var message: MessageAnswer?
  package var entries: [Entry]
  /// What to give as `before` for what is older; left out at the end of the log.
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
  /// Messages that were here already.
  package var known: Int
  package var threads: Int
  /// Whether it was only checked.
  package var dryRun: Bool

  package init(_ counts: ImportCounts, isTrial: Bool) {
    sessions = counts.sessions
    messages = counts.messages
    known = counts.known
    threads = counts.threads
    dryRun = isTrial
  }
}
