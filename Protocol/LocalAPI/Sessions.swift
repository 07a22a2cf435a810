package import QueueModel

package struct SessionRequest: APIValue {
  package static let notes = ["id": Note.sessionID]

  package var id: String
  package var name: String?
  package var project: String?
  /// Whether an agent reports that it works there: the session's properties stay unchanged, and
  /// undo skips it.
  package var byAgent: Bool?

  package init(id: String, name: String? = nil, project: String? = nil, byAgent: Bool? = nil) {
    self.id = id
    self.name = name
    self.project = project
    self.byAgent = byAgent
  }
}

package struct RenameRequest: APIValue {
  package var name: String

  package init(name: String) { self.name = name }
}

package struct PauseRequest: APIValue {
  package var reason: String?

  package init(reason: String?) { self.reason = reason }
}

/// One session.
package struct SessionAnswer: APIValue {
  package var id: SessionID
  package var name: String
  package var project: String
  package var paused: Bool
  /// True if lists leave it out: a user archived it, and nothing in it waits, works or asks; otherwise absent.
  package var archived: Bool?
  package var waiting: Int
  /// Place in the thread queue; absent if it is not in it.
  package var threadPosition: Int?
  package var locked: Bool
  /// The device on which its agent runs; absent if none was named.
  package var host: DeviceID?
  /// That device's name, if one session or the overview is requested; so are all later fields.
  package var hostName: String?
  /// The action of its host with an agent at work while its server does not answer.
  package var onLostServer: LostServerPolicy
  /// Whether its messages start if their text was merged from independent saves.
  package var onMerge: MergePolicy
  /// The agent of its messages, if this device is the host: `none` if there is none.
  package var agent: String?
  /// How many of the waiting messages were merged from independent saves, and need a check; absent
  /// if there are none.
  package var merged: Int?
  /// The state of the session.
  package var standing: Standing?
  /// The state in words: the question, the obstacle, or the current work.
  package var note: String?

  /// The state of a session: the first that applies.
  package enum Standing: String, Codable, CaseIterable, Sendable {
    /// Its agent asks its user a question.
    case asks
    /// It is stopped until a user decides.
    case stopped
    case working
    case paused
    /// Messages wait, but no device runs them.
    case unhosted
    /// Messages wait, but this device, their host, has no permission to run the session.
    case unconsented
    /// Messages wait, but their host has no agent.
    case agentless
    /// Its next message was merged from independent saves, and needs a check.
    case merged
    /// Messages wait, but their host is not connected.
    case hostAway
    case waiting
    case idle

    /// Whether the waiting messages start only after a user or a device acts.
    package var lacksHost: Bool {
      switch self {
      case .unhosted, .unconsented, .agentless, .hostAway: true
      case .asks, .stopped, .working, .paused, .merged, .waiting, .idle: false
      }
    }
  }

  package init(_ view: SessionView) {
    host = view.host
    onLostServer = view.onLostServer
    onMerge = view.onMerge
    id = view.id
    name = view.name
    project = view.project
    paused = view.paused
    archived = view.archived ? true : nil
    waiting = view.waiting
    threadPosition = view.threadPosition
    locked = view.locked
  }
}

/// Every session that exists.
package struct SessionsAnswer: APIValue {
  package var sessions: [SessionAnswer]
  /// The beginning of the next page; absent on the last page.
  package var next: String?
  /// The sessions of the page whose agents worked in terminals of this device that were closed;
  /// absent if there are none.
  package var closed: [SessionID]?

  package init(sessions: [SessionAnswer], next: String? = nil, closed: [SessionID]? = nil) {
    self.sessions = sessions
    self.next = next
    self.closed = closed
  }
}

/// The overview.
package struct OverviewAnswer: APIValue {
  package var sync: SyncAnswer
  package var sessions: [SessionAnswer]
  /// How many archived sessions it leaves out; absent if it leaves out none.
  package var archived: Int?

  package init(sync: SyncStatus, sessions: [SessionAnswer], archived: Int = 0) {
    self.sync = SyncAnswer(sync)
    self.sessions = sessions
    self.archived = archived == 0 ? nil : archived
  }
}

/// `this`, a name or an id; absent for none.
package struct HostRequest: APIValue {
  package var device: String?

  package init(device: String?) { self.device = device }
}

/// The device on which a session's agent now runs.
package struct HostAnswer: APIValue {
  package var session: SessionID
  package var host: DeviceID?
  package var name: String?
  /// The former host, if it was another device.
  package var previous: DeviceID?
  /// A warning about the consequences of taking it over.
  package var warning: String?
  /// Whether it runs there only with that device's permission: a user must confirm it there, unless
  /// its setting `hosts` is `any`.
  package var asksThere: Bool?
  /// After a takeover: whether the message of the interrupted turn counts as cancelled, because a
  /// user had stopped or cancelled it.
  package var cancelled: Bool?

  package init(session: SessionID, host: DeviceID?, name: String?) {
    self.session = session
    self.host = host
    self.name = name
  }
}

/// The action of its host with an agent at work while its server does not answer.
package struct LostServerRequest: APIValue {
  package var onLostServer: LostServerPolicy

  package init(onLostServer: LostServerPolicy) { self.onLostServer = onLostServer }
}

/// Whether messages of a session start if their text was merged from independent saves.
package struct MergeRequest: APIValue {
  package var onMerge: MergePolicy

  package init(onMerge: MergePolicy) { self.onMerge = onMerge }
}

/// The turn to stop.
package struct StopRequest: APIValue {
  /// The message that the user means; if another one runs by then, nothing is stopped. Without it,
  /// any running message.
  package var message: MessageID?

  package init(message: MessageID?) { self.message = message }
}

/// The turn to take over, and the device that takes over.
package struct TakeOverRequest: APIValue {
  package var device: String?
  /// The message that the user means; if another one runs by then, nothing is taken over.
  package var message: MessageID?

  package init(device: String?, message: MessageID? = nil) {
    self.device = device
    self.message = message
  }
}

/// Whether an agent is at work, and is being stopped.
package struct StopAnswer: APIValue {
  package var stopped: Bool
  /// The message that it works on.
  package var message: ReceiptAnswer.Message?
  /// The device where it is at work, if it is another one.
  package var device: String?
  /// Since when that device has been away: it stops the agent when it is back.
  package var awaySince: Timestamp?
  /// If no agent runs: what waits for its user instead, and the commands that decide it.
  package var note: String?

  package init(
    stopped: Bool, message: ReceiptAnswer.Message? = nil, device: String? = nil,
    awaySince: Int64? = nil, note: String? = nil
  ) {
    self.note = note
    self.stopped = stopped
    self.message = message
    self.device = device
    self.awaySince = awaySince.map(Timestamp.init)
  }
}

/// The answer to a command without an answer type of its own.
package struct ReceiptAnswer: APIValue {
  package enum Result: String, Codable, CaseIterable, Sendable {
    case done, unchanged, queued, moved, affected, undone, redone, skipped, imported
  }

  /// Whether a message was cancelled in time.
  package struct Outcome: APIValue {
    package static let notes = ["outcome": Note.choice(["cancelled", "invoked", "unconfirmed"])]

    package var id: MessageID
    package var outcome: String

    package init(id: MessageID, outcome: String) {
      self.id = id
      self.outcome = outcome
    }
  }

  /// A changed message, as users know it.
  package struct Message: APIValue {
    /// The maximum number of bytes of a text in a receipt.
    static let textBytesMax = 120

    package var id: MessageID
    package var session: SessionID
    /// The beginning of its text, as one line.
    package var text: String
    /// Whether it still needs a check of independently saved texts; absent if not.
    package var merged: Bool?

    package init(_ view: MessageView) {
      id = view.id
      session = view.session
      merged = view.isMerged ? true : nil
      let line = view.content.split(whereSeparator: \.isNewline).lazy
        .map { String($0).trimmedOfWhitespace() }.first { !$0.isEmpty }
      text = (line ?? "").cut(toUTF8Bytes: Self.textBytesMax)
    }
  }

  package var result: Result
  /// The effective position of the (first) message or thread, if it was moved or queued.
  package var position: Int?
  /// How many items were affected, or wait in the queue now.
  package var count: Int?
  /// The undone, redone or unchanged change, in words; for a start that changed nothing, what the
  /// message waits for.
  package var what: String?
  /// For an undo or a redo: sessions that it paused, so that nothing starts.
  package var paused: [SessionID]?
  /// For an undo or a redo: parts that were not changed.
  package var left: [UndoObstacleAnswer]?
  /// The messages named in the request, in that order.
  package var messages: [Message]?
  /// The number of the change, for `undo`; after an undo, for `redo`. Absent if there is nothing to
  /// undo.
  package var change: Int64?
  /// For cancelled messages: whether the cancellation was in time.
  package var outcomes: [Outcome]?
  /// For an edit, an undo or a redo: the authority did not confirm that it was in time; absent if
  /// it did. For a deleted session: an agent of another device works until this one is connected.
  package var unconfirmed: Bool?
  /// For moved messages: why they are not in the requested place.
  package var note: String?
  /// For an edit without a base: the text that it replaced, if another device had saved that.
  package var replaced: EditionAnswer?
  /// For a restored message: the names of its files that are gone. Absent if there are none.
  package var missingFiles: [String]?

  package init(_ notice: CommandOutcome.Notice, change: Int64? = nil) {
    self.change = change
    switch notice {
    case .done: result = .done
    case .unchanged: result = .unchanged
    case .queued(_, let position, let count, _):
      result = .queued
      self.position = position
      self.count = count
    case .moved(let position):
      result = .moved
      self.position = position
    case .affected(let count):
      result = .affected
      self.count = count
    case .imported(let counts):
      result = .imported
      count = counts.messages
    case .undone(let done):
      result = .undone
      tell(done)
    case .redone(let done):
      result = .redone
      tell(done)
    case .skipped(let label):
      result = .skipped
      what = label.description
    }
  }

  private mutating func tell(_ done: UndoResult) {
    what = done.label.description
    paused = done.paused.isEmpty ? nil : done.paused
    left = done.left.isEmpty ? nil : done.left.map(UndoObstacleAnswer.init)
    unconfirmed = done.unconfirmed.isEmpty ? nil : true
  }
}
