package import SequenceCRDT

/// A field that a change wrote and its value before: one inverse command.
///
/// Steps name elements by their own ids. A later change to the same field by another user is an
/// obstacle, and is recorded when it arrives (`UndoHistory.noteForeign`).
package struct UndoStep: Hashable, Sendable {
  package var field: UndoField
  /// The value to restore.
  package var value: UndoValue
  /// Whether another user wrote it since. The places of a text can then no longer be counted.
  package var isOvertaken = false
}

/// A field that changes as a whole.
package struct UndoField: Hashable, Sendable {
  package enum Part: Hashable, Sendable {
    case tags(TagField)
    case register(RegisterField)
    /// The place of a message or a thread.
    case place
    case text
  }

  package var element: ElementName
  package var part: Part
}

/// The value that an undo restores.
package enum UndoValue: Hashable, Sendable {
  /// The notes of its tags; nil removes the property.
  case notes([String]?)
  /// Files to remove and files to add again, by their notes.
  case files(taken: [String], given: [String])
  /// nil if the register had never been written.
  case register(RegisterValue?)
  case place(UndoPlace)
  case text(TextReversal)
}

/// A place in a queue.
package struct UndoPlace: Hashable, Sendable {
  /// The session whose queue it is in; nil for the thread queue.
  package var session: SessionID?
  /// Its former slot.
  package var slot: OperationID
  /// The element beside that slot, in case the slot is forgotten.
  package var left: ElementName?
  package var right: ElementName?
}

/// A stretch of a text, and the text to restore there.
package struct TextReversal: Hashable, Sendable {
  /// The `addMessage` that introduced the text.
  package var content: OperationID
  /// The beginning of the stretch, in Unicode scalars.
  package var offset: Int
  /// The stretch after the change, and the ids of its scalars.
  package var text: String
  package var ids: [OperationRange]
  /// The text to restore there.
  package var old: String
  /// The scalars on both sides, as anchors if others have typed in the text since.
  package var left: OperationID?
  package var right: OperationID?
}

/// The steps that undo one command, or one stretch of typing.
package struct UndoEntry: Hashable, Sendable {
  /// A description of the command for users.
  package var label: UndoLabel
  /// When it was made, by the device's hybrid clock, in milliseconds since 1970.
  package var milliseconds: Int64
  package var steps: [UndoStep] = []
  /// Whether it is only listed, with the command that reverses it now, and cannot be undone.
  package var isByCommand = false
  /// The former value of a setting; nil if it was not set.
  package var former: String?
  /// Whether others have worked on its messages since; on its sessions, if it has no messages.
  package var isShared = false
  /// Whether others have changed the text of one of its messages since.
  package var isRewritten = false
  /// The stretch of typing of which it is the latest part, until an edition ends that stretch.
  package var typing: TypingStretch?
  /// Whether it is a later part of the preceding import; only until it is recorded.
  var continuesImport = false

  package init(label: UndoLabel, milliseconds: Int64) {
    self.label = label
    self.milliseconds = milliseconds
  }

  package var isEmpty: Bool { steps.isEmpty && !isByCommand }

  /// Its approximate size in bytes.
  package var cost: Int {
    let texts = (label.text?.utf8.count ?? 0) + (former?.utf8.count ?? 0)
    return steps.reduce(192 + texts + 16 * (typing?.seen.count ?? 0)) { $0 + $1.value.cost }
  }
}

extension UndoEntry {
  var messages: Set<MessageID> { Set(steps.compactMap(\.field.element.message)) }
  var sessions: Set<SessionID> { Set(steps.compactMap(\.field.element.session)) }

  func speaks(of field: UndoField) -> Bool { steps.contains { $0.field == field } }
}

extension UndoStep {
  /// Whether one of the editions that it removes is live.
  func isLive(in workspace: Workspace) -> Bool {
    guard case .files(let taken, _) = value else { return false }
    let tags = workspace.elementState(field.element)?.tags[.edition]?.tags ?? []
    return tags.besides(taken, in: workspace).count < tags.count
  }
}

extension UndoValue {
  fileprivate var cost: Int {
    switch self {
    case .notes(let notes): (notes ?? []).reduce(96) { $0 + 16 + $1.utf8.count }
    case .files(let taken, let given): (taken + given).reduce(96) { $0 + 16 + $1.utf8.count }
    case .register(.text(let text)): 96 + text.utf8.count
    case .register, .place: 160
    case .text(let text):
      192 + text.text.utf8.count + text.old.utf8.count + 16 * text.ids.count
    }
  }
}

extension ElementName {
  package var message: MessageID? { if case .message(let id) = self { id } else { nil } }
  package var session: SessionID? { if case .session(let id) = self { id } else { nil } }
}

// MARK: - The state of a thing

extension Workspace {
  /// The operations that gave a field its value. If they differ later, the field was written since.
  /// For a text, these are the visible ones.
  ///
  /// - Complexity: O(1); O(text) of a text.
  func writers(of field: UndoField) -> [OperationRange] {
    func one(_ id: OperationID?) -> [OperationRange] {
      id.map { [OperationRange(replica: $0.replica, first: $0.seq, last: $0.seq)] } ?? []
    }
    switch field.part {
    case .tags(let tag): return elementState(field.element)?.tagIDs(tag).flatMap { one($0) } ?? []
    case .register(let register):
      return one(elementState(field.element)?.registers[register]?.writer)
    case .place:
      return one(slot(of: field.element))
    case .text:
      return field.element.message.flatMap { messageStates[$0]?.primary?.content.visibleRanges }
        ?? []
    }
  }

  /// The slot of a message or a thread; nil for one without a place.
  func slot(of element: ElementName) -> OperationID? {
    switch element {
    case .message(let id): messageStates[id]?.position.value
    case .session(let id): sessionStates[id]?.threadPosition?.value
    }
  }

  /// The place of a message or a thread; nil for one without a place.
  func undoPlace(of element: ElementName) -> UndoPlace? {
    switch element {
    case .message(let key):
      guard let message = messageStates[key], let session = sessionStates[message.session] else {
        return nil
      }
      func holds(_ slot: OperationID, _ owner: MessageID) -> Bool {
        owner != key && messageStates[owner]?.position.value == slot
      }
      let slot = message.position.value
      return UndoPlace(
        session: message.session, slot: slot,
        left: session.slots.neighbour(of: slot, isLeft: true, holds).map(ElementName.message),
        right: session.slots.neighbour(of: slot, isLeft: false, holds).map(ElementName.message))
    case .session(let key):
      guard let slot = sessionStates[key]?.threadPosition?.value else { return nil }
      func holds(_ slot: OperationID, _ owner: SessionID) -> Bool {
        owner != key && sessionStates[owner]?.threadPosition?.value == slot
      }
      return UndoPlace(
        session: nil, slot: slot,
        left: threadSlots.neighbour(of: slot, isLeft: true, holds).map(ElementName.session),
        right: threadSlots.neighbour(of: slot, isLeft: false, holds).map(ElementName.session))
    }
  }
}
