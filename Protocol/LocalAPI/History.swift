import Basics
package import QueueModel

/// Which change an undo or a redo is about.
package struct UndoRequest: APIValue {
  /// As the answer that made it told; refused with `changedSince` where it is not the latest any more.
  /// Without it, the latest change of this device.
  package var change: Int64?

  package init(change: Int64? = nil) { self.change = change }
}

/// What an undo and a redo would do, in words.
package struct UndoAnswer: APIValue {
  package var undo: String?
  package var redo: String?
  package var undoCount: Int
  package var redoCount: Int

  package init(undo: UndoLabel?, redo: UndoLabel?, undoCount: Int, redoCount: Int) {
    self.undo = undo?.description
    self.redo = redo?.description
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

  /// What the latest attempt wrote, where the agent ran here and one message was asked for.
  package var output: OutputAnswer?
  /// The device that has what its attempts wrote, where that is another one.
  package var outputDevice: String?
  /// The message as it is now, where one was asked for: known longer than the log reaches back.
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
