import SequenceCRDT

/// Watches the operations of one command and notes what takes them back.
///
/// The state before an operation counts only where the command touches a thing for the first time.
/// What the command introduces itself is not taken back piece by piece: a message that was sent is
/// cancelled, its text and its place stay for a redo.
struct UndoRecorder {
  private struct TagKey: Hashable {
    var element: ElementName
    var field: TagField
  }

  private struct RegisterKey: Hashable {
    var element: ElementName
    var field: RegisterField
  }

  /// What was before, in the order of the first touches.
  private struct Found<Key: Hashable, Value> {
    private(set) var keys: [Key] = []
    private(set) var values: [Key: Value] = [:]

    mutating func note(_ key: Key, _ value: @autoclosure () -> Value) {
      guard values[key] == nil else { return }
      values[key] = value()
      keys.append(key)
    }
  }

  private var introduced: Set<ElementName> = []
  private var introducedContents: Set<OperationID> = []
  private var tags = Found<TagKey, [WorkspaceImage.Tag]>()
  private var registers = Found<RegisterKey, Register<RegisterValue>?>()
  private var messagePlaces = Found<MessageID, UndoGroup.PlaceStep<MessageID>?>()
  private var threadPlaces = Found<SessionID, UndoGroup.PlaceStep<SessionID>?>()
  private var queuedAt = Found<SessionID, Register<Int64>?>()
  private var contents: [OperationID] = []
  private var texts: [OperationID: TextChange] = [:]

  init() {}

  /// What a command did to one content so far.
  private struct TextChange {
    var message: MessageID
    var inserted = OperationSet()
    var deleted: [UndoGroup.DeletedText] = []
  }

  /// Looks at the state before an operation is applied.
  mutating func watch(_ operation: Operation, in workspace: Workspace) {
    switch operation.body {
    case .announceDevice:
      break
    case .openSession(let key, _):
      if workspace.sessionStates[key] == nil { introduced.insert(.session(key)) }
      noteTags(.session(key), .exists, workspace)
    case .addMessage(let addition):
      if let key = workspace.sessionKeys[addition.session] {
        noteTags(.session(key), .exists, workspace)
      }
      introducedContents.insert(operation.id)
      if workspace.messageStates[addition.message] == nil {
        introduced.insert(.message(addition.message))
      }
      noteTags(.message(addition.message), .live, workspace)
    case .insertText(let insertion):
      noteText(insertion.message, workspace)
      guard let range = operation.range else { return }
      texts[insertion.message]?.inserted.insert(range)
    case .deleteText(let deletion):
      noteText(deletion.message, workspace)
      noteDeletion(deletion, workspace)
    case .placeMessage(let message, _, _, _):
      if let key = workspace.messageKeys[message] {
        messagePlaces.note(key, UndoGroup.PlaceStep(ofMessage: key, in: workspace))
      }
    case .placeThread(let session, _, _):
      if let key = workspace.sessionKeys[session] { noteThreadPlace(key, workspace) }
    case .enqueueThread(let enqueue):
      guard let key = workspace.sessionKeys[enqueue.session] else { return }
      noteThreadPlace(key, workspace)
      queuedAt.note(key, workspace.sessionStates[key]?.queuedAt)
      noteTags(.session(key), .queued, workspace)
      noteTags(.session(key), .locked, workspace)
    case .addTag(let reference, let field, _, _), .clearTags(let reference, let field, _):
      guard let element = workspace.element(introducedBy: reference) else { return }
      noteTags(element, field, workspace)
    case .setRegister(let reference, let field, _, _):
      guard let element = workspace.element(introducedBy: reference) else { return }
      if case .session(let key) = element, field == .queuedAt {
        queuedAt.note(key, workspace.sessionStates[key]?.queuedAt)
      } else {
        let key = RegisterKey(element: element, field: field)
        registers.note(key, workspace.elementState(element)?.registers[field])
      }
    }
  }

  private mutating func noteTags(
    _ element: ElementName, _ field: TagField, _ workspace: Workspace
  ) {
    tags.note(
      TagKey(element: element, field: field),
      workspace.elementState(element)?.tags[field]?.tags ?? [])
  }

  private mutating func noteThreadPlace(_ key: SessionID, _ workspace: Workspace) {
    threadPlaces.note(key, UndoGroup.PlaceStep(ofThread: key, in: workspace))
  }

  private mutating func noteText(_ content: OperationID, _ workspace: Workspace) {
    guard texts[content] == nil, !introducedContents.contains(content),
      let message = workspace.messageKeys[content]
    else { return }
    texts[content] = TextChange(message: message)
    contents.append(content)
  }

  /// Scalars that the command inserted itself leave its insertions; the others are kept.
  private mutating func noteDeletion(_ deletion: Operation.DeleteText, _ workspace: Workspace) {
    guard var change = texts[deletion.message],
      let last = deletion.first.advanced(by: deletion.count - 1)
    else { return }
    let text = workspace.content(deletion.message, of: change.message) ?? TextContent()
    let range = OperationRange(
      replica: deletion.first.replica, first: deletion.first.seq, last: last.seq)
    for foreign in change.inserted.remove(range) { change.deleted += text.shown(foreign) }
    texts[deletion.message] = change
  }

  /// What takes back everything that was watched.
  ///
  /// - Parameter workspace: the state behind the last operation.
  func group(_ label: UndoLabel, milliseconds: Int64, in workspace: Workspace) -> UndoGroup {
    var group = UndoGroup(label: label, milliseconds: milliseconds)
    for key in tags.keys { noteTags(key, workspace, in: &group) }
    group.registers = registers.keys.compactMap { registerStep($0, workspace) }
    group.messagePlaces = messagePlaces.keys.compactMap { key in
      guard var step = messagePlaces.values[key] ?? nil,
        !introduced.contains(.message(key)), let now = workspace.messageStates[key]?.position,
        now.value != step.slot
      else { return nil }
      step.writer = now.value
      return step
    }
    group.threadPlaces = threadPlaces.keys.compactMap { key in
      guard var step = threadPlaces.values[key] ?? nil,
        let now = workspace.sessionStates[key]?.threadPosition, now.value != step.slot
      else { return nil }
      step.writer = now.value
      return step
    }
    group.queuedAt = queuedAt.keys.compactMap { key in
      guard let before = queuedAt.values[key] ?? nil,
        let now = workspace.sessionStates[key]?.queuedAt, now.writer != before.writer
      else { return nil }
      return UndoGroup.QueuedAtStep(
        session: key, before: before.value, beforeWriter: before.writer, writer: now.writer)
    }
    group.texts = contents.compactMap { content in
      guard let change = texts[content], !change.inserted.isEmpty || !change.deleted.isEmpty
      else { return nil }
      return UndoGroup.TextStep(
        message: change.message, content: content, inserted: change.inserted.ranges,
        deleted: change.deleted)
    }
    return group
  }

  private func noteTags(_ key: TagKey, _ workspace: Workspace, in group: inout UndoGroup) {
    let before = tags.values[key] ?? []
    let after = workspace.elementState(key.element)?.tags[key.field]?.tags ?? []
    let (old, new) = (Set(before.map(\.id)), Set(after.map(\.id)))
    let put = after.map(\.id).filter { !old.contains($0) }
    let cleared = before.map(\.id).filter { !new.contains($0) }
    guard !put.isEmpty || !cleared.isEmpty else { return }
    if key.field == .attachment {
      guard !introduced.contains(key.element) else { return }
      let gone = before.filter { !new.contains($0.id) }
      noteAttachments(key, put: put, gone: gone, in: &group)
      return
    }
    let notes = before.map(\.note)
    if !before.isEmpty, !after.isEmpty, notes == after.map(\.note) || key.field != .paused {
      guard let standIn = put.first else { return }
      group.replacements += cleared.map {
        UndoGroup.TagReplacement(field: key.field, old: $0, new: standIn)
      }
      return
    }
    group.tags.append(
      UndoGroup.TagStep(
        element: key.element, field: key.field, put: put, cleared: cleared,
        restored: before.isEmpty ? nil : notes))
  }

  /// Each attachment is a thing of its own: others may be there before and after.
  private func noteAttachments(
    _ key: TagKey, put: [OperationID], gone: [WorkspaceImage.Tag], in group: inout UndoGroup
  ) {
    if !put.isEmpty {
      group.tags.append(
        UndoGroup.TagStep(
          element: key.element, field: key.field, put: put, cleared: [], restored: nil))
    }
    if !gone.isEmpty {
      group.tags.append(
        UndoGroup.TagStep(
          element: key.element, field: key.field, put: [], cleared: gone.map(\.id),
          restored: gone.map(\.note)))
    }
  }

  private func registerStep(
    _ key: RegisterKey, _ workspace: Workspace
  ) -> UndoGroup.RegisterStep? {
    guard !introduced.contains(key.element),
      let now = workspace.elementState(key.element)?.registers[key.field],
      let before = registers.values[key], before?.value != now.value
    else { return nil }
    return UndoGroup.RegisterStep(
      element: key.element, field: key.field, before: before?.value,
      beforeWriter: before?.writer, writer: now.writer)
  }
}
