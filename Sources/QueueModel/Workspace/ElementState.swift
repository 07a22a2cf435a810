import SequenceCRDT

/// A last-writer-wins register: the latest stamp wins, and the id of the writing operation breaks
/// ties.
struct Register<Value: Hashable & Sendable>: Hashable, Sendable {
  var value: Value
  var stamp: Stamp
  var writer: OperationID

  /// Whether this write replaces `other`.
  func wins(over other: Register?) -> Bool {
    guard let other else { return true }
    return (stamp, writer) > (other.stamp, other.writer)
  }
}

/// An observed-remove set of tags; the element has the property while one tag is left.
struct TagSet: Hashable, Sendable {
  /// By tag id.
  private(set) var tags: [WorkspaceImage.Tag] = []

  init(tags: [WorkspaceImage.Tag] = []) {
    self.tags = tags
  }

  var isEmpty: Bool { tags.isEmpty }
  var ids: [OperationID] { tags.map(\.id) }

  mutating func insert(_ id: OperationID, note: String = "") {
    // Searches from the end, because most new tags have the highest id.
    let index = (tags.lastIndex { $0.id < id } ?? -1) + 1
    tags.insert(WorkspaceImage.Tag(id: id, note: note), at: index)
  }

  mutating func clear(_ ids: [OperationID]) {
    if ids.isEmpty { return }
    let cleared = Set(ids)
    tags.removeAll { cleared.contains($0.id) }
  }
}

/// The state of every element: the operations that introduced it, its tags and its registers.
struct ElementState: Sendable {
  /// By id; never empty.
  private(set) var references: [OperationID] = []
  private(set) var tags = FieldTable<TagField, TagSet>()
  private(set) var registers = FieldTable<RegisterField, Register<RegisterValue>>()

  init() {}

  init(
    references: [OperationID], tags: [WorkspaceImage.Tags], registers: [WorkspaceImage.Register]
  ) {
    self.references = references
    for set in tags { self.tags[set.field] = TagSet(tags: set.tags) }
    for register in registers {
      self.registers[register.field] = Register(
        value: register.value, stamp: register.stamp, writer: register.writer)
    }
  }

  mutating func addReference(_ id: OperationID) {
    references.insert(id, at: (references.lastIndex { $0 < id } ?? -1) + 1)
  }

  func has(_ field: TagField) -> Bool {
    !(tags[field]?.isEmpty ?? true)
  }

  func tagIDs(_ field: TagField) -> [OperationID] {
    tags[field]?.ids ?? []
  }

  func notes(_ field: TagField) -> [String] {
    tags[field]?.tags.map(\.note) ?? []
  }

  /// Clears the tags that an author saw, and adds the author's own, if there is one.
  mutating func updateTags(
    _ field: TagField, clearing ids: [OperationID], adding tag: OperationID?, note: String = ""
  ) {
    var set = tags[field] ?? TagSet()
    set.clear(ids)
    if let tag { set.insert(tag, note: note) }
    tags[field] = set.isEmpty ? nil : set
  }

  mutating func write(_ field: RegisterField, _ write: Register<RegisterValue>) {
    if write.wins(over: registers[field]) { registers[field] = write }
  }

  func text(_ field: RegisterField) -> String? {
    guard case .text(let text)? = registers[field]?.value else { return nil }
    return text
  }

  func milliseconds(_ field: RegisterField) -> Int64? { registers[field]?.value.milliseconds }

  var imageTags: [WorkspaceImage.Tags] {
    tags.entries.map { WorkspaceImage.Tags(field: $0.field, tags: $0.value.tags) }
  }

  var imageRegisters: [WorkspaceImage.Register] {
    registers.entries.map {
      WorkspaceImage.Register(
        field: $0.field, value: $0.value.value, stamp: $0.value.stamp, writer: $0.value.writer)
    }
  }
}

/// A session: thread queue entry and message queue in one.
struct SessionState: Sendable {
  private struct Fields: Sendable {
    var key: SessionID
    var element = ElementState()
    var threadPosition: Register<OperationID>?
    var enqueued: Register<OperationID>?
    var slots = SlotList<MessageID>()
    var standing = StandingOrder()
  }

  private var fields: Shared<Fields>

  init(key: SessionID) {
    fields = Shared(Fields(key: key))
  }

  var key: SessionID { fields.value.key }
  var element: ElementState {
    _read { yield fields.value.element }
    _modify { yield &fields.value.element }
  }
  /// The winning slot of the thread queue.
  var threadPosition: Register<OperationID>? {
    _read { yield fields.value.threadPosition }
    _modify { yield &fields.value.threadPosition }
  }
  /// The latest requeue; its stamp's milliseconds are `queuedAt`.
  var enqueued: Register<OperationID>? {
    _read { yield fields.value.enqueued }
    _modify { yield &fields.value.enqueued }
  }
  /// The message queue: a slot for each time that a message was put in or moved.
  var slots: SlotList<MessageID> {
    _read { yield fields.value.slots }
    _modify { yield &fields.value.slots }
  }
  /// The messages in the queue, by their position. Finished messages are excluded, so that a queue
  /// that has run for months costs no more than a new one.
  var standing: StandingOrder {
    _read { yield fields.value.standing }
    _modify { yield &fields.value.standing }
  }

  var exists: Bool { element.has(.exists) }
  /// A tag alone gives no place. Every command makes both, but a merge may leave one alone.
  var isInThreadQueue: Bool { exists && element.has(.queued) && threadPosition != nil }
  var isLocked: Bool { element.has(.locked) }
  var isPaused: Bool { element.has(.paused) }
  var host: DeviceID? { element.text(.host).flatMap { DeviceID($0) } }
  /// A value of a later version counts as the policy that stops nothing.
  var onLostServer: LostServerPolicy {
    element.text(.onLostServer).flatMap(LostServerPolicy.init) ?? .finish
  }
  /// A value of a later version counts as the policy that starts nothing.
  var onMerge: MergePolicy { element.text(.onMerge).flatMap(MergePolicy.init) ?? .wait }

  /// When the thread was queued, in milliseconds since 1970: the time of the latest requeue, or the
  /// time that an undo of it wrote.
  var queuedAt: Register<Int64>? {
    let requeued = enqueued.map {
      Register(value: $0.stamp.milliseconds, stamp: $0.stamp, writer: $0.writer)
    }
    guard let register = element.registers[.queuedAt], case .number(let number) = register.value
    else { return requeued }
    let written = Register(
      value: Int64(clamping: number), stamp: register.stamp, writer: register.writer)
    return written.wins(over: requeued) ? written : requeued
  }
}

/// A message: content, place and properties.
struct MessageState: Sendable {
  /// One `addMessage` and the content it introduced.
  struct Addition: Sendable {
    var id: OperationID
    var stamp: Stamp
    var text = MessageText()

    /// The text with its structure.
    var content: TextContent {
      get { text.content }
      set { text.content = newValue }
    }

    /// Whether the content differs from the one insertion that came with the message.
    var isEdited: Bool {
      let runs = text.canonicalRuns
      guard let run = runs.first, runs.count == 1, run.isVisible else { return true }
      // A mark precedes a long text.
      return run.id != id.advanced(by: 1) && run.id != id.advanced(by: 2)
    }
  }

  private struct Fields: Sendable {
    var id: MessageID
    var element = ElementState()
    var additions: [Addition] = []
    var session: SessionID
    var position: Register<OperationID>
  }

  private var fields: Shared<Fields>

  init(id: MessageID, session: SessionID, position: Register<OperationID>) {
    fields = Shared(Fields(id: id, session: session, position: position))
  }

  var id: MessageID { fields.value.id }
  var element: ElementState {
    _read { yield fields.value.element }
    _modify { yield &fields.value.element }
  }
  /// By id; more than one if devices added the same id independently.
  var additions: [Addition] {
    _read { yield fields.value.additions }
    _modify { yield &fields.value.additions }
  }
  /// The queue that holds it now.
  var session: SessionID {
    _read { yield fields.value.session }
    _modify { yield &fields.value.session }
  }
  /// The slot that holds it now.
  var position: Register<OperationID> {
    _read { yield fields.value.position }
    _modify { yield &fields.value.position }
  }

  /// Whether it is in its queue, if its session exists.
  var stands: Bool { element.standing.stands(isLive: element.has(.live)) }

  var priority: Priority { Priority(element.registers[.priority]?.value) }

  /// The addition whose content is visible: the earliest by stamp, then id.
  var primary: Addition? {
    additions.min { ($0.stamp, $0.id) < ($1.stamp, $1.id) }
  }

  /// Whether the message has ended, so that edits are unlikely, and a text is still open.
  var hasOpenTextThoughOver: Bool { !stands && additions.contains { $0.text.isOpen } }

  mutating func packTexts() {
    for index in additions.indices { additions[index].text.pack() }
  }

  /// Edits the text of an addition.
  ///
  /// - Returns: the session whose queue holds the message, and whether it ended with an open text.
  mutating func editText(
    of addition: OperationID, _ body: (inout MessageText) throws(SequenceFault) -> Void
  ) throws(SequenceFault) -> (session: SessionID, isToPack: Bool) {
    if let index = additions.firstIndex(where: { $0.id == addition }) {
      try body(&additions[index].text)
    }
    return (session, hasOpenTextThoughOver)
  }
}
