import SequenceCRDT

/// A structure that contradicts itself.
package struct InvariantViolation: Error, Hashable, Sendable, CustomStringConvertible {
  /// A description of the fault and its place.
  package var reason: String

  package init(reason: String) {
    self.reason = reason
  }

  package var description: String { reason }
}

extension Workspace {
  /// Checks the whole state against itself: sequences, references, positions, counts, tags.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  /// - Complexity: O(state · log).
  package func checkInvariants() throws(InvariantViolation) {
    try InvariantCheck(workspace: self).run()
  }
}

/// Compares the parts of a workspace with each other.
private struct InvariantCheck {
  let workspace: Workspace

  func run() throws(InvariantViolation) {
    try check(workspace.threadSlots.sequence, "thread queue")
    try workspace.threadSlots.checkInvariants("thread queue")
    var messages: [SessionID: [MessageState]] = [:]
    for message in workspace.messageStates.values {
      try check(message)
      messages[message.session, default: []].append(message)
    }
    for session in workspace.sessionStates.values {
      try check(session, messages: messages.removeValue(forKey: session.key) ?? [])
      try checkOrder(of: session)
    }
    guard messages.isEmpty else {
      throw InvariantViolation(reason: "a message is in no session")
    }
    try checkPackedSessions()
    guard workspace.textsToPack.isEmpty else {
      throw InvariantViolation(reason: "texts wait for being packed")
    }
    for replica in workspace.announcements.keys where workspace.vector[replica] == 0 {
      throw InvariantViolation(reason: "replica \(replica.rawValue) is noted but not known")
    }
  }

  private func check(
    _ session: SessionState, messages: [MessageState]
  ) throws(InvariantViolation) {
    let name = "session \(session.key)"
    try check(session.slots.sequence, name)
    try session.slots.checkInvariants(name)
    guard !session.element.references.isEmpty,
      session.element.references.allSatisfy({ workspace.sessionKeys[$0] == session.key })
    else { throw InvariantViolation(reason: "\(name) has no way to be named") }
    try check(session.element, name)
    if let slot = session.threadPosition?.value {
      guard workspace.threadSlots.owner(of: slot) == session.key else {
        throw InvariantViolation(reason: "\(name) is at a slot that is not its own")
      }
    }
    for message in messages {
      guard session.slots.owner(of: message.position.value) == message.id else {
        throw InvariantViolation(
          reason: "message \(message.id) is at a slot that is not its own")
      }
    }
  }

  /// Checks a session's record of the effective order against the order of all its slots.
  private func checkOrder(of session: SessionState) throws(InvariantViolation) {
    let standing = workspace.messagesInPlace(of: session).filter(\.stands)
    let order = QueueBlock.allCases.flatMap { block in standing.filter { $0.block == block } }
    guard session.standing.count == order.count,
      session.standingMessages(at: 0..<order.count) == order.map(\.id)
    else {
      throw InvariantViolation(
        reason: "session \(session.key) does not know which messages are in its queue, and where")
    }
    for (index, message) in order.enumerated()
    where session.standingIndex(of: message) != index {
      throw InvariantViolation(reason: "message \(message.id) is not where it is found")
    }
  }

  private func check(_ message: MessageState) throws(InvariantViolation) {
    let name = "message \(message.id)"
    guard !message.additions.isEmpty,
      message.additions.allSatisfy({ workspace.messageKeys[$0.id] == message.id })
    else { throw InvariantViolation(reason: "\(name) has no way to be named") }
    try check(message.element, name)
    guard !message.hasOpenTextThoughOver else {
      throw InvariantViolation(reason: "\(name) is over and its text is not packed")
    }
    for addition in message.additions { try check(addition.text, name) }
  }

  /// Checks that a packed text is the same after unpacking.
  private func check(_ text: MessageText, _ name: String) throws(InvariantViolation) {
    let content = text.content
    try check(content.sequence, name)
    guard content.sequence.canonicalRuns == text.canonicalRuns, content.text == text.string else {
      throw InvariantViolation(reason: "\(name): its text is another one when it is opened")
    }
  }

  private func check(_ element: ElementState, _ name: String) throws(InvariantViolation) {
    let writers = element.registers.values.map(\.writer) + element.tags.values.flatMap(\.ids)
    guard (writers + element.references).allSatisfy(workspace.vector.contains) else {
      throw InvariantViolation(reason: "\(name) contains something that no operation wrote")
    }
  }

  private func check(
    _ sequence: RunSequence, _ name: String
  ) throws(InvariantViolation) {
    do {
      try sequence.checkInvariants()
    } catch {
      throw InvariantViolation(reason: "\(name): \(error)")
    }
    guard sequence.runs.allSatisfy({ workspace.vector.contains($0.unitID(at: $0.length - 1)) })
    else {
      throw InvariantViolation(reason: "\(name): a unit that no operation inserted")
    }
  }

  /// Checks that untouched sessions match their summaries, and that views show the same before and
  /// after they are unpacked.
  private func checkPackedSessions() throws(InvariantViolation) {
    guard let cold = workspace.cold else { return }
    let unpacked: Workspace
    do {
      unpacked = try workspace.thawed()
    } catch {
      throw InvariantViolation(reason: "packed sessions cannot be unpacked: \(error)")
    }
    guard unpacked.threadQueue() == workspace.threadQueue() else {
      throw InvariantViolation(reason: "the thread queue shows something else when packed")
    }
    for (key, index) in workspace.untouchedSessions {
      let state = unpacked.sessionStates[key]
      guard state?.exists == cold.exists(index), state?.standing.count == cold.waiting(index),
        state?.isInThreadQueue == cold.isInThreadQueue(index)
      else { throw InvariantViolation(reason: "session \(key) is not what is kept of it") }
      guard unpacked.session(key) == workspace.session(key),
        (try? unpacked.messageQueue(key)) == (try? workspace.messageQueue(key)),
        unpacked.cancelledMessages(of: key) == workspace.cancelledMessages(of: key)
      else { throw InvariantViolation(reason: "session \(key) shows something else when packed") }
    }
  }
}
