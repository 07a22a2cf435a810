import SequenceCRDT

/// Watches the operations of one command, and records the steps that undo them.
///
/// Only the state before the command's first change to a field counts. Elements that the command
/// itself introduces are not undone piece by piece: a sent message is cancelled, and its text and
/// place are kept for a redo.
struct UndoRecorder {
  private enum Found {
    case tags([WorkspaceImage.Tag])
    case register(Register<RegisterValue>?)
    case place(UndoPlace?)
    /// The whole text, as ids and characters.
    case text(content: OperationID, ids: [OperationRange], text: String)
    /// A stretch of a text, and the number of its scalars that are visible afterwards.
    case typed(content: OperationID, offset: Int, old: String, count: Int)
  }

  private var introduced: Set<ElementName> = []
  /// In the order in which they were touched.
  private var found: [(field: UndoField, before: Found)] = []
  /// All their fields, once there are many.
  private var manyFields: Set<UndoField> = []

  /// The number of fields that are searched one by one: most commands touch one or two.
  private static let scannedMax = 8

  private func isNoted(_ field: UndoField) -> Bool {
    found.count <= UndoRecorder.scannedMax
      ? found.contains { $0.field == field } : manyFields.contains(field)
  }

  private mutating func note(_ field: UndoField, _ value: @autoclosure () -> Found) {
    guard !isNoted(field) else { return }
    found.append((field, value()))
    guard found.count > UndoRecorder.scannedMax else { return }
    if manyFields.isEmpty { manyFields.formUnion(found.map(\.field)) }
    manyFields.insert(field)
  }

  /// Records typing: `count` scalars replace the old text.
  mutating func noteTyping(
    in message: MessageID, _ content: OperationID, at offset: Int, old: String, count: Int
  ) {
    note(
      UndoField(element: .message(message), part: .text),
      .typed(content: content, offset: offset, old: old, count: count))
  }

  /// Records the state before an operation is applied.
  mutating func watch(_ operation: Operation, in workspace: Workspace) {
    switch operation.body {
    case .announceDevice: break
    case .openSession(let key, _):
      if workspace.sessionStates[key] == nil { introduced.insert(.session(key)) }
      noteTags(.session(key), .exists, workspace)
    case .addMessage(let addition):
      if let key = workspace.sessionKeys[addition.session] {
        noteTags(.session(key), .exists, workspace)
      }
      if workspace.messageStates[addition.message] == nil {
        introduced.insert(.message(addition.message))
      }
      noteTags(.message(addition.message), .live, workspace)
    case .insertText(let insertion): noteText(insertion.message, workspace)
    case .deleteText(let deletion): noteText(deletion.message, workspace)
    case .placeMessage(let message, _, _, _): notePlace(message, workspace)
    case .placeThread(let session, _, _): notePlace(session, workspace)
    case .enqueueThread(let enqueue):
      notePlace(enqueue.session, workspace)
      guard let key = workspace.sessionKeys[enqueue.session] else { return }
      noteTags(.session(key), .queued, workspace)
      noteTags(.session(key), .locked, workspace)
    case .addTag(let reference, let field, _, _), .clearTags(let reference, let field, _):
      guard let element = workspace.element(introducedBy: reference),
        UndoRecorder.tags.contains(field)
      else { return }
      noteTags(element, field, workspace)
    case .setRegister(let reference, let field, _, _):
      guard let element = workspace.element(introducedBy: reference),
        UndoRecorder.registers.contains(field)
      else { return }
      note(
        UndoField(element: element, part: .register(field)),
        .register(workspace.elementState(element)?.registers[field]))
    }
  }

  private static let tags: [TagField] = [
    .exists, .queued, .locked, .paused, .live, .attachment, .edition,
  ]
  private static let registers: [RegisterField] = [
    .name, .project, .priority, .notBefore, .heldUntil, .later, .needs, .host,
    .onLostServer, .onMerge,
  ]

  private mutating func noteTags(
    _ element: ElementName, _ field: TagField, _ workspace: Workspace
  ) {
    note(
      UndoField(element: element, part: .tags(field)),
      .tags(workspace.elementState(element)?.tags[field]?.tags ?? []))
  }

  private mutating func notePlace(_ reference: OperationID, _ workspace: Workspace) {
    guard let element = workspace.element(introducedBy: reference) else { return }
    note(UndoField(element: element, part: .place), .place(workspace.undoPlace(of: element)))
  }

  private mutating func noteText(_ content: OperationID, _ workspace: Workspace) {
    guard let message = workspace.messageKeys[content] else { return }
    let field = UndoField(element: .message(message), part: .text)
    guard !isNoted(field), !introduced.contains(.message(message)),
      workspace.messageStates[message]?.primary?.id == content,
      let base = try? workspace.editBase(message)
    else { return }
    note(field, .text(content: content, ids: base.ranges, text: base.text))
  }

  /// The steps that undo everything that was watched.
  ///
  /// - Parameter workspace: the state after the last operation.
  func steps(in workspace: Workspace) -> [UndoStep] {
    found.compactMap { field, before in
      value(before, of: field, workspace).map { UndoStep(field: field, value: $0) }
    }
  }

  private func value(
    _ found: Found, of field: UndoField, _ workspace: Workspace
  ) -> UndoValue? {
    let isIntroduced = introduced.contains(field.element)
    switch found {
    case .tags(let before):
      guard case .tags(let tag) = field.part else { return nil }
      let after = workspace.elementState(field.element)?.tags[tag]?.tags ?? []
      switch tag {
      case .attachment: return isIntroduced ? nil : files(before, after)
      case .edition:
        guard !isIntroduced else { return nil }
        return UndoValue(ofEditions: before, after, in: workspace)
      default: return notes(before, after, tag)
      }
    case .register(let before):
      guard !isIntroduced, case .register(let register) = field.part,
        let now = workspace.elementState(field.element)?.registers[register],
        before?.value != now.value
      else { return nil }
      return .register(before?.value)
    case .place(let before):
      guard !isIntroduced, let before,
        workspace.slot(of: field.element) != before.slot
      else { return nil }
      return .place(before)
    case .text(let content, let ids, let text):
      guard let message = field.element.message,
        let after = workspace.content(content, of: message)
      else { return nil }
      return TextReversal(of: after, content, from: ids, text).map(UndoValue.text)
    case .typed(let content, let offset, let old, let count):
      guard let message = field.element.message,
        let after = workspace.content(content, of: message)
      else { return nil }
      return .text(
        TextReversal(of: after, content, in: offset..<offset + count, old: old))
    }
  }

  private func notes(
    _ before: [WorkspaceImage.Tag], _ after: [WorkspaceImage.Tag], _ field: TagField
  ) -> UndoValue? {
    let notes = before.map(\.note)
    let later = after.map(\.note)
    let isArchival = field == .exists && Archival.holds(notes) != Archival.holds(later)
    guard before.isEmpty != after.isEmpty || isArchival || (field == .paused && notes != later)
    else { return nil }
    return .notes(before.isEmpty ? nil : notes)
  }

  /// Restores each file separately, because others may be there before and after.
  private func files(
    _ before: [WorkspaceImage.Tag], _ after: [WorkspaceImage.Tag]
  ) -> UndoValue? {
    let (old, new) = (Set(before.map(\.note)), Set(after.map(\.note)))
    let taken = after.map(\.note).filter { !old.contains($0) }
    let given = before.map(\.note).filter { !new.contains($0) }
    return taken.isEmpty && given.isEmpty ? nil : .files(taken: taken, given: given)
  }
}
