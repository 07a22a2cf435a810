import SequenceCRDT

extension Workspace {
  /// The effects of operations, in their order. Operations of one command that belong together are
  /// one entry.
  ///
  /// - Precondition: the operations are applied here; otherwise their elements cannot be named.
  package func history(of operations: [Operation]) -> [HistoryEntry] {
    OperationHistory(of: operations, in: self).entries
  }
}

/// Describes operations as text, with the workspace's names of the elements that they change.
private struct OperationHistory {
  private(set) var entries: [HistoryEntry] = []
  private let workspace: Workspace

  init(of operations: [Operation], in workspace: Workspace) {
    self.workspace = workspace
    let notes = TimeNotes(in: operations)
    let tidied = operations.tidied(in: workspace)
    for (index, operation) in operations.enumerated() {
      let isMark =
        operation.marksAChange || operations.endsTyping(at: index) || tidied.contains(index)
      if isMark, let range = operation.range {
        // Operations after it may belong together with operations before it.
        if let last = entries.last?.operations, last.replica == range.replica,
          last.last &+ 1 == range.first
        {
          entries[entries.count - 1].operations.last = range.last
        }
        continue
      }
      guard var entry = entry(for: operation) else { continue }
      if entry.milliseconds == nil { entry.milliseconds = notes.milliseconds(of: operation.id) }
      if let last = entries.last, let joined = last.joined(with: entry, operation) {
        entries[entries.count - 1] = joined
      } else {
        entry.device = workspace.device(of: operation.id.replica)
        entries.addTime(of: entry)
        entries.append(entry)
      }
    }
  }

  private func entry(for operation: Operation) -> HistoryEntry? {
    guard let range = operation.range else { return nil }
    var entry = HistoryEntry(operations: range, action: .unknown)
    entry.milliseconds = operation.stamp?.milliseconds
    switch operation.body {
    case .announceDevice(_, let name):
      entry.action = .joined(name: name)
    case .openSession(let session, _):
      entry.action = .addedSession
      entry.session = session
    case .addMessage(let addition):
      entry.action = .queued(text: "", priority: addition.priority)
      entry.session = workspace.sessionKeys[addition.session]
      entry.message = addition.message
    case .insertText(let insertion):
      entry.action = .edited(inserted: range.count, deleted: 0)
      name(workspace.messageKeys[insertion.message], in: &entry)
    case .deleteText(let deletion):
      entry.action = .edited(inserted: 0, deleted: range.count)
      name(workspace.messageKeys[deletion.message], in: &entry)
    case .placeMessage(let message, let session, _, _):
      entry.action = .moved
      entry.message = workspace.messageKeys[message]
      entry.session = workspace.sessionKeys[session]
    case .placeThread(let session, _, _):
      entry.action = .movedThread
      entry.session = workspace.sessionKeys[session]
    case .enqueueThread(let enqueue):
      entry.action = .queuedThread
      entry.session = workspace.sessionKeys[enqueue.session]
    case .addTag(let element, let field, _, let note):
      entry.action = HistoryAction(putting: field, note: note)
      entry.isSignOfLife = entry.action == .addedSession
      name(element, in: &entry)
    case .clearTags(let element, let field, _):
      entry.action = HistoryAction(clearing: field)
      name(element, in: &entry)
    case .setRegister(let element, .run, let value, let fence):
      let run = Run(fence: Fence(fence), value: value)
      entry.action = .ran(run.phase, attempt: Int(run.attempt), note: run.note)
      entry.milliseconds = run.milliseconds
      name(element, in: &entry)
    case .setRegister(let element, .task, let value, _):
      let text = TaskText(value)
      entry.action = .task(text.status.kind, words: text.status.words, note: text.status.note)
      entry.milliseconds = text.milliseconds
      name(element, in: &entry)
    case .setRegister(_, let field, _, _) where RegisterField.taskPieces.contains(field):
      return nil
    case .setRegister(let element, let field, let value, let stamp):
      entry.action = HistoryAction(writing: value, to: field)
      if field == .decision {
        entry.milliseconds = Resolution.milliseconds(ofFence: stamp, value)
      }
      name(element, in: &entry)
    }
    return entry
  }

  private func name(_ element: OperationID, in entry: inout HistoryEntry) {
    if let session = workspace.sessionKeys[element] {
      entry.session = session
    } else {
      name(workspace.messageKeys[element], in: &entry)
    }
  }

  private func name(_ message: MessageID?, in entry: inout HistoryEntry) {
    entry.message = message
    entry.session = message.flatMap(session(of:))
  }

  /// The session of a message, without unpacking the session: a log names thousands of messages.
  private func session(of message: MessageID) -> SessionID? {
    if let cold = workspace.cold, let place = workspace.messageStates.coldPlace(of: message) {
      let session = cold.keys[place.session]
      if workspace.untouchedIndex(of: session) != nil { return session }
    }
    return workspace.messageStates[message]?.session
  }
}

/// The content of the notes of time among operations.
private struct TimeNotes {
  private struct Note {
    var units: Range<UInt32>
    var milliseconds: Int64
  }

  /// Sorted by units.
  private var notes: [ReplicaID: [Note]] = [:]

  init(in operations: [Operation]) {
    for operation in operations {
      guard case .setRegister(_, .changedAt, .number(let count), let stamp) = operation.body
      else { continue }
      let seq = operation.id.seq
      let first = seq - UInt32(min(count, UInt64(seq)))
      notes[operation.id.replica, default: []].append(
        Note(units: first..<seq, milliseconds: stamp.milliseconds))
    }
  }

  /// - Complexity: O(log notes)
  func milliseconds(of id: OperationID) -> Int64? {
    guard let notes = notes[id.replica] else { return nil }
    let index = notes.indices.partitioningIndex { notes[$0].units.upperBound > id.seq }
    guard index < notes.count, notes[index].units.contains(id.seq) else { return nil }
    return notes[index].milliseconds
  }
}

extension [HistoryEntry] {
  /// A session that was just made known is as old as what follows it.
  fileprivate mutating func addTime(of next: HistoryEntry) {
    guard let last, last.action == .addedSession, last.milliseconds == nil,
      last.operations.replica == next.operations.replica,
      last.operations.last &+ 1 == next.operations.first
    else { return }
    self[count - 1].milliseconds = next.milliseconds
  }
}

extension [Operation] {
  /// Whether an operation is the edition of letters that are already in the history: it settles
  /// nothing, and no other edition is restored with it.
  fileprivate func endsTyping(at index: Int) -> Bool {
    guard let element = self[index].editedElement,
      case .addTag(_, .edition, let clears, _) = self[index].body, clears.count < 2
    else { return false }
    return [index - 1, index + 1].allSatisfy {
      !indices.contains($0) || self[$0].editedElement != element
    }
  }
}

extension Operation {
  /// The message to which it adds an edition.
  fileprivate var editedElement: OperationID? {
    if case .addTag(let element, .edition, _, _) = body { element } else { nil }
  }

  /// Whether it only marks that a change begins or is complete, its author or its time.
  fileprivate var marksAChange: Bool {
    switch body {
    case .addTag(_, .incomplete, _, _), .clearTags(_, .incomplete, _), .addTag(_, .byAgent, _, _),
      .clearTags(_, .edition, _), .setRegister(_, .changedAt, _, _):
      true
    // The entry of the agent's start has the text that it got.
    case .addTag(_, .edition, _, let note): Edition(note: note).attempt != nil
    default: false
    }
  }
}

extension HistoryAction {
  fileprivate init(putting field: TagField, note: String) {
    switch field {
    case .exists where note == Archival.archived: self = .archived
    case .exists where note == Archival.unarchived: self = .unarchived
    case .exists: self = .addedSession
    case .queued: self = .queuedThread
    case .locked: self = .lockedThread
    case .paused: self = .paused(reason: note)
    case .live: self = .restored
    case .edition: self = .savedText
    case .attachment: self = Attachment(note: note).map { .attached(name: $0.name) } ?? .unknown
    default: self = .unknown
    }
  }

  fileprivate init(clearing field: TagField) {
    switch field {
    case .exists: self = .deletedSession
    case .queued: self = .removedThread
    case .locked: self = .unlockedThread
    case .paused: self = .resumed
    case .live: self = .cancelled
    case .attachment: self = .detached
    default: self = .unknown
    }
  }

  fileprivate init(writing value: RegisterValue, to field: RegisterField) {
    switch (field, value) {
    case (.name, .text(let name)): self = .renamedSession(name)
    case (.project, .text(let path)): self = .setProject(path)
    case (.priority, .number(let number)):
      self = .setPriority(UInt8(exactly: number).flatMap(Priority.init(rawValue:)) ?? .normal)
    case (.queuedAt, .number): self = .queuedThread
    case (.attempts, .number(let number)): self = .notedAttempts(Int(clamping: number))
    case (.lastError, .text(let text)): self = .notedError(text)
    case (.host, .text(let device)): self = .setHost(device: device)
    case (.onLostServer, .text(let policy)): self = .setOnLostServer(policy)
    case (.onMerge, .text(let policy)): self = .setOnMerge(policy)
    case (.decision, let value), (.resolution, let value):
      self = Resolution(value).map { $0.skips ? .skipped : .retried } ?? .unknown
    case (.notBefore, .number(let time)), (.heldUntil, .number(let time)),
      (.later, .number(let time)):
      self = .postponed(until: Int64(clamping: time))
    case (.needs, let value): self = .setNeeds(MessageNeeds.ids(value).count)
    case (.stopped, .number): self = .stopped
    default: self = .unknown
    }
  }
}

extension HistoryEntry {
  /// The number of characters of a queued prompt that the history shows.
  private static let excerptMax = 120

  /// This entry with the next operation of its replica as a part of it: the text of a new prompt,
  /// the requeue of a send, more typing, or a tag that keeps a session alive. nil if the operation
  /// is anything else.
  fileprivate func joined(with next: HistoryEntry, _ operation: Operation) -> HistoryEntry? {
    guard operations.replica == next.operations.replica,
      operations.last &+ 1 == next.operations.first
    else { return nil }
    var entry = self
    entry.operations.last = next.operations.last
    entry.milliseconds = milliseconds ?? next.milliseconds
    switch (action, next.action) {
    case (.queued("", let priority), .edited) where message == next.message:
      guard case .insertText(let insertion) = operation.body else { return nil }
      entry.action = .queued(
        text: String(insertion.text.prefix(HistoryEntry.excerptMax)), priority: priority)
    case (.queued, .queuedThread) where session == next.session: entry.queuesThread = true
    case (.edited(let inserted, let deleted), .edited(let more, let less))
    where message == next.message:
      if let time = next.milliseconds {
        let before = latestMilliseconds ?? milliseconds ?? time
        guard time - before <= Limits.typingPauseMillisecondsMax else { return nil }
        entry.latestMilliseconds = time
      }
      entry.action = .edited(inserted: inserted + more, deleted: deleted + less)
    case (.edited, .savedText) where message == next.message,
      (.queued, .savedText) where message == next.message,
      (.savedText, .savedText) where message == next.message:
      break
    case (.addedSession, .queued), (.addedSession, .moved), (.addedSession, .restored),
      (.addedSession, .setHost):
      // A session that is added by itself has an entry; a tag that only keeps it alive has none.
      guard session == next.session, isSignOfLife else { return nil }
      entry.action = next.action
      entry.message = next.message
      entry.isSignOfLife = false
    case (.restored, .addedSession) where session == next.session,
      (.archived, .removedThread) where session == next.session,
      (.archived, .unlockedThread) where session == next.session,
      (.unarchived, .queuedThread) where session == next.session,
      (.stopped, .cancelled) where message == next.message:
      break
    case (.task(.processing, _, _), .task(.processing, _, _)) where session == next.session:
      entry.action = next.action
    case (.movedThread, .queuedThread), (.removedThread, .queuedThread):
      guard session == next.session, case .setRegister = operation.body else { return nil }
    default:
      return nil
    }
    return entry
  }
}
