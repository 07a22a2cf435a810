package import SequenceCRDT

/// What takes back one command, or one stretch of typing: what it found, and what it wrote.
///
/// A step says what was before and names what the command itself wrote; undoing does it only as far
/// as that is still what counts. So nothing that somebody else did later is taken back. Elements are
/// named by their keys, slots, scalars and tags by operation ids.
package struct UndoGroup: Hashable, Sendable {
  /// What the command did, for people.
  package var label: UndoLabel
  /// When, by the device's hybrid clock, in milliseconds since 1970.
  package var milliseconds: Int64
  package var tags: [TagStep] = []
  package var registers: [RegisterStep] = []
  package var messagePlaces: [PlaceStep<MessageID>] = []
  package var threadPlaces: [PlaceStep<SessionID>] = []
  package var queuedAt: [QueuedAtStep] = []
  package var texts: [TextStep] = []
  /// Tags that gave way to others while the property stayed as it was: nothing to take back, but
  /// older groups that put the one speak of the other from now on.
  package var replacements: [TagReplacement] = []

  package init(label: UndoLabel, milliseconds: Int64) {
    self.label = label
    self.milliseconds = milliseconds
  }

  /// A property that tags carry.
  package struct TagStep: Hashable, Sendable {
    package var element: ElementName
    package var field: TagField
    /// The tags the command put; undoing clears those that are left.
    package var put: [OperationID]
    /// The tags the command cleared.
    package var cleared: [OperationID]
    /// The notes of the tags there were, to be put again; nil where there were none.
    package var restored: [String]?
    /// Whether somebody else has put and cleared the property since.
    package var isOvertaken = false
  }

  /// A tag that carries on a property in place of another one.
  package struct TagReplacement: Hashable, Sendable {
    package var field: TagField
    package var old: OperationID
    package var new: OperationID
  }

  /// A register; undoing writes the old value while the command's is the latest.
  package struct RegisterStep: Hashable, Sendable {
    package var element: ElementName
    package var field: RegisterField
    /// nil where the register had never been written.
    package var before: RegisterValue?
    package var beforeWriter: OperationID?
    package var writer: OperationID
  }

  /// A place in a queue; undoing moves back while the command's is the latest.
  package struct PlaceStep<Key: Hashable & Sendable>: Hashable, Sendable {
    package var key: Key
    /// The session whose queue it was; nil for the thread queue.
    package var session: SessionID?
    /// The slot it had.
    package var slot: OperationID
    /// Who stood next to that slot, for a time when it is forgotten.
    package var left: Key?
    package var right: Key?
    /// The slot the command made.
    package var writer: OperationID
  }

  /// A thread's time of queueing.
  package struct QueuedAtStep: Hashable, Sendable {
    package var session: SessionID
    package var before: Int64
    package var beforeWriter: OperationID
    package var writer: OperationID
  }

  /// The text of one message.
  package struct TextStep: Hashable, Sendable {
    package var message: MessageID
    /// The `addMessage` that introduced the content.
    package var content: OperationID
    /// The scalars the command inserted and did not delete itself; undoing deletes what is left.
    package var inserted: [OperationRange]
    /// What the command deleted, in its order; undoing inserts it where the deleted scalars stand.
    package var deleted: [DeletedText]
  }

  /// Deleted scalars with consecutive ids.
  package struct DeletedText: Hashable, Sendable {
    package var range: OperationRange
    package var text: String
    /// The scalars that showed before and behind, for a time when the deleted ones are forgotten.
    package var left: OperationID?
    package var right: OperationID?
  }

  /// Whether there is nothing to take back.
  package var isEmpty: Bool {
    tags.isEmpty && registers.isEmpty && messagePlaces.isEmpty && threadPlaces.isEmpty
      && queuedAt.isEmpty && texts.isEmpty
  }

  /// The group without its steps on some messages.
  func without(_ messages: Set<MessageID>) -> UndoGroup {
    func isLeft(_ element: ElementName) -> Bool {
      if case .message(let id) = element { !messages.contains(id) } else { true }
    }
    var group = self
    group.tags.removeAll { !isLeft($0.element) }
    group.registers.removeAll { !isLeft($0.element) }
    group.messagePlaces.removeAll { messages.contains($0.key) }
    group.texts.removeAll { messages.contains($0.message) }
    return group
  }

  /// The operations that the group speaks of: of texts, those that introduced them.
  func forEachName(_ body: (OperationID) -> Void) {
    for step in tags {
      step.put.forEach(body)
      step.cleared.forEach(body)
    }
    for step in registers {
      body(step.writer)
      step.beforeWriter.map(body)
    }
    for step in messagePlaces {
      body(step.slot)
      body(step.writer)
    }
    for step in threadPlaces {
      body(step.slot)
      body(step.writer)
    }
    for step in queuedAt {
      body(step.writer)
      body(step.beforeWriter)
    }
    for step in texts { body(step.content) }
  }

  /// Whether the group speaks of any of these.
  func speaks(of names: Set<OperationID>) -> Bool {
    var isOne = false
    forEachName { isOne = isOne || names.contains($0) }
    return isOne
  }

  /// About how many bytes the group takes.
  package var cost: Int {
    let steps = tags.count + registers.count + messagePlaces.count + threadPlaces.count
    return texts.reduce(128 + 96 * (steps + queuedAt.count)) { sum, step in
      step.deleted.reduce(sum + 48 + 16 * step.inserted.count) { $0 + 64 + $1.text.utf8.count }
    }
  }

  /// Whether the group is nothing but typing in one message.
  var typedMessage: MessageID? {
    guard let step = texts.first, texts.count == 1, tags.isEmpty, registers.isEmpty,
      messagePlaces.isEmpty, threadPlaces.isEmpty, queuedAt.isEmpty
    else { return nil }
    return step.message
  }
}
