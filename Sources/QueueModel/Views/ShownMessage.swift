import SequenceCRDT

/// A message as views show it, whether its session is packed or not. Each value is read from the
/// registers and tags on demand.
struct ShownMessage {
  var id: MessageID
  var session: SessionID
  /// The addition whose content is shown.
  var primary: (id: OperationID, stamp: Stamp)?
  var runState: RunState
  private let source: Source

  /// The source of the other values, read on demand.
  private enum Source {
    case state(ElementState, MessageText?)
    /// It is in a packed session.
    case image(WorkspaceImage.Message)
  }
}

extension ShownMessage {
  init(_ state: MessageState) {
    let primary = state.primary
    self.init(
      id: state.id, session: state.session, primary: primary.map { (id: $0.id, stamp: $0.stamp) },
      runState: state.element.runState, source: .state(state.element, primary?.text))
  }

  /// A message of a packed session.
  init(_ image: WorkspaceImage.Message, in session: SessionID) {
    let primary = image.primary
    self.init(
      id: image.id, session: session, primary: primary.map { (id: $0.id, stamp: $0.stamp) },
      runState: RunState(image.registers), source: .image(image))
  }

  /// The text of its letters, assembled on demand; the content (`text`) may differ.
  func letters() -> String {
    switch source {
    case .state(_, let text): text?.string ?? ""
    case .image(let image): image.primary?.text ?? ""
    }
  }

  /// The operation that wrote the state of its latest attempt.
  func runWriter() -> OperationID? {
    switch source {
    case .state(let element, _): element.registers[.run]?.writer
    case .image(let image): image.registers.first { $0.field == .run }?.writer
    }
  }

  private func register(_ field: RegisterField) -> RegisterValue? {
    switch source {
    case .state(let element, _): element.registers[field]?.value
    case .image(let image): image.registers.first { $0.field == field }?.value
    }
  }

  private func tags(_ field: TagField) -> [WorkspaceImage.Tag] {
    switch source {
    case .state(let element, _): element.tags[field]?.tags ?? []
    case .image(let image): image.tags.first { $0.field == field }?.tags ?? []
    }
  }

  /// Whether it is in its queue, provided that its session exists.
  var stands: Bool { runState.stands(isLive: has(.live)) }
  /// How it was withdrawn while an attempt is in flight; nil if it was not.
  var withdrawal: Withdrawal? {
    guard runState.isInFlight, !has(.live) else { return nil }
    return isStopped(runState.run?.attempt ?? 0) ? .stopped : .cancelled
  }
  /// Whether a user stopped an attempt at it, and it has not been restored since.
  func isStopped(_ attempt: UInt16) -> Bool {
    !has(.live) && register(.stopped) == .number(UInt64(attempt))
  }
  var priority: Priority { Priority(register(.priority)) }
  var notBefore: Int64? { register(.notBefore)?.milliseconds }
  var heldUntil: Int64? { register(.heldUntil)?.milliseconds }
  var later: Int64? { register(.later)?.milliseconds }
  /// The messages that must succeed before it is in line.
  var needs: [MessageID] { MessageNeeds.ids(register(.needs)) }
  var project: String? { nonEmptyText(.project) }
  /// The error of the latest attempt before an import.
  var lastError: String? { nonEmptyText(.lastError) }
  var attachments: [Attachment] { Attachment.shown(by: tags(.attachment).map(\.note)) }
  /// Whether an agent queued it.
  var isByAgent: Bool { has(.byAgent) }
  /// Whether a part of one of its changes has not arrived.
  var isIncomplete: Bool { has(.incomplete) }
  /// The live texts that were saved for it, by id.
  var editions: [WorkspaceImage.Tag] { tags(.edition) }
  /// Its `live` tags, by id.
  var liveTags: [OperationID] { tags(.live).map(\.id) }

  /// How many times it was tried, here and before an import. A number that is too large is clamped.
  var allAttempts: Int {
    var imported = 0
    if case .number(let number)? = register(.attempts) { imported = Int(clamping: number) }
    let sum = imported.addingReportingOverflow(Int(runState.run?.attempt ?? 0))
    return sum.overflow ? .max : sum.partialValue
  }

  var block: QueueBlock { QueueBlock(wasTried: runState.run != nil, priority) }

  private func has(_ field: TagField) -> Bool { !tags(field).isEmpty }

  /// An undo writes an empty text for none.
  private func nonEmptyText(_ field: RegisterField) -> String? {
    guard case .text(let text)? = register(field), !text.isEmpty else { return nil }
    return text
  }
}

extension WorkspaceImage.Message {
  /// The addition whose content is shown.
  fileprivate var primary: WorkspaceImage.Addition? {
    additions.min { ($0.stamp, $0.id) < ($1.stamp, $1.id) }
  }
}

extension Priority {
  /// The priority in a register; normal if the register contains no priority.
  init(_ value: RegisterValue?) {
    guard case .number(let number)? = value, let raw = UInt8(exactly: number),
      let priority = Priority(rawValue: raw)
    else {
      self = .normal
      return
    }
    self = priority
  }
}

extension Workspace {
  /// The messages whose place is in a session's queue, cancelled ones too, in slot order.
  func shownMessages(of session: SessionID) -> [ShownMessage] {
    if let cold, let index = untouchedIndex(of: session) {
      return cold.packed.outline(of: index).messages.map { ShownMessage($0, in: session) }
    }
    return sessionStates[session].map(messagesInPlace)?.map(ShownMessage.init) ?? []
  }

  /// The messages whose place is in a session's queue, cancelled ones too, in slot order.
  func messagesInPlace(of session: SessionState) -> [MessageState] {
    session.slots.inOrder.compactMap { place in
      guard let message = messageStates[place.owner], message.session == session.key,
        message.position.value == place.slot
      else { return nil }
      return message
    }
  }

  /// One message, wherever it is.
  func shownMessage(_ id: MessageID) -> ShownMessage? {
    guard let cold, let place = messageStates.coldPlace(of: id),
      untouchedIndex(of: cold.keys[place.session]) != nil
    else { return messageStates[id].map(ShownMessage.init) }
    return cold.packed.messages(of: place.session, at: [place.message]).first
      .map { ShownMessage($0, in: cold.keys[place.session]) }
  }

  /// The live texts that were saved for a message; none if it is not known.
  func editionTags(of id: MessageID) -> [OperationID] {
    if cold != nil { return shownMessage(id)?.editions.map(\.id) ?? [] }
    return messageStates[id]?.element.tagIDs(.edition) ?? []
  }

  /// The latest run of each message; a message that never ran has none.
  ///
  /// - Complexity: O(messages), and O(messages of the session) once for each that was not touched.
  package func runs(of ids: some Sequence<MessageID>) -> [MessageID: Run] {
    var runs: [MessageID: Run] = [:]
    var outlines: [Int: WorkspaceImage.Session] = [:]
    for id in ids {
      guard let cold, let place = messageStates.coldPlace(of: id),
        untouchedIndex(of: cold.keys[place.session]) != nil
      else {
        runs[id] = messageStates[id]?.element.runState.run
        continue
      }
      let outline = outlines[place.session] ?? cold.packed.outline(of: place.session)
      outlines[place.session] = outline
      runs[id] = RunState(outline.messages[place.message].registers).run
    }
    return runs
  }

  /// The text of a message, cancelled ones too; nil if it is not known.
  package func text(of id: MessageID) -> String? {
    shownMessage(id)?.text()
  }
}

extension Withdrawal {
  /// Whether a user stopped an attempt at a message, and it has not been restored since.
  package static func stops(
    _ attempt: UInt16, at id: MessageID, in workspace: Workspace
  ) -> Bool {
    workspace.shownMessage(id)?.isStopped(attempt) == true
  }

  /// Whether a user stopped the agent that works on a message of a session.
  package static func stopsAgent(of session: SessionID, in workspace: Workspace) -> Bool {
    workspace.triedMessages(of: session).contains { $0.withdrawal == .stopped }
  }
}

extension MessageState {
  var block: QueueBlock { QueueBlock(wasTried: element.registers[.run] != nil, priority) }
}

/// The parts of a queue in effective order, whatever the order of the slots.
package enum QueueBlock: Int, CaseIterable, Sendable {
  case tried, urgent, normal

  fileprivate init(wasTried: Bool, _ priority: Priority) {
    self = wasTried ? .tried : priority == .urgent ? .urgent : .normal
  }

  /// The block of a message with these registers, provided that it is in its queue.
  package init(_ registers: [WorkspaceImage.Register]) {
    self.init(
      wasTried: registers.contains { $0.field == .run },
      Priority(registers.first { $0.field == .priority }?.value))
  }
}

extension RegisterValue {
  /// A time; nil if there is none, or if it was removed.
  var milliseconds: Int64? {
    guard case .number(let number) = self, number > 0 else { return nil }
    return Int64(clamping: number)
  }
}
