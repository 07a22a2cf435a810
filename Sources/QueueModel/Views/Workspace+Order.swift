import SequenceCRDT

/// The effective order of a queue: messages in flight or already tried, then urgent, then normal
/// ones, each in slot order (S0-55).
extension Workspace {
  /// The waiting messages of a session in effective order, or those at some places of it, from 0.
  ///
  /// - Complexity: O(places + log slots); O(messages of the session) if it is packed.
  func effectiveOrder(
    of session: SessionID, at places: Range<Int> = 0..<Int.max
  ) -> [MessageID] {
    guard sessionExists(session) else { return [] }
    if let cold, let index = untouchedIndex(of: session) {
      let ids = cold.messageIDs(of: index)
      return cold.messages(of: index, at: places).map { ids[$0] }
    }
    return sessionStates[session]?.standingMessages(at: places) ?? []
  }

  /// How many messages wait in a queue.
  ///
  /// - Complexity: O(1).
  func waitingCount(of session: SessionID) -> Int {
    guard sessionExists(session) else { return 0 }
    if let cold, let index = untouchedIndex(of: session) { return cold.waiting(index) }
    return sessionStates[session]?.standing.count ?? 0
  }

  /// The place of a waiting message in effective order, from 0; nil if it does not wait.
  ///
  /// - Complexity: O(log² slots), if its session is not packed.
  func waitingIndex(of id: MessageID) -> Int? {
    guard let message = messageStates[id], isWaiting(message) else { return nil }
    return sessionStates[message.session]?.standingIndex(of: message)
  }

  /// The place of a message from 1, as answers and views show it; 0 if it does not wait.
  func position(of id: MessageID) -> Int { waitingIndex(of: id).map { $0 + 1 } ?? 0 }

  /// The same, without unpacking the message's session.
  func position(of message: ShownMessage) -> Int {
    guard isWaiting(message) else { return 0 }
    guard cold == nil || untouchedIndex(of: message.session) == nil else {
      let index = effectiveOrder(of: message.session).firstIndex(of: message.id)
      return index.map { $0 + 1 } ?? 0
    }
    return position(of: message.id)
  }

  /// The slot of the message at a place in effective order, from 0.
  ///
  /// - Complexity: O(log slots).
  func waitingSlot(at index: Int, in session: SessionID) -> OperationID? {
    guard let state = sessionStates[session], state.standing.count > index else { return nil }
    return state.slots.sequence.id(ofContent: Int(state.standing.slot(at: index)))
  }

  /// The places of a block in effective order.
  func waitingIndices(of block: QueueBlock, in session: SessionID) -> Range<Int> {
    if let cold, let index = untouchedIndex(of: session) {
      return cold.places(of: block, in: index)
    }
    return sessionStates[session]?.standing.places(of: block) ?? 0..<0
  }

  /// The messages in a session's queue that were tried: in flight, halted, or withdrawn from an
  /// agent.
  func triedMessages(of session: SessionID) -> [ShownMessage] {
    return standingMessages(of: session, at: waitingIndices(of: .tried, in: session))
  }

  /// The messages in a session's queue, in effective order.
  ///
  /// - Parameter places: the places of the wanted messages, from 0.
  /// - Complexity: O(places + log slots); O(messages of the session) if it is packed.
  func standingMessages(
    of session: SessionID, at places: Range<Int> = 0..<Int.max
  ) -> [ShownMessage] {
    if let cold, let index = untouchedIndex(of: session) {
      let numbers = cold.messages(of: index, at: places)
      let images = cold.packed.messages(of: index, at: numbers.sorted())
      let shown = Dictionary(zip(numbers.sorted(), images)) { first, _ in first }
      return numbers.compactMap { shown[$0].map { ShownMessage($0, in: session) } }
    }
    return (sessionStates[session]?.standingMessages(at: places) ?? [])
      .compactMap { messageStates[$0].map(ShownMessage.init) }
  }
}

extension SessionState {
  /// The messages at some places in effective order, from 0.
  func standingMessages(at places: Range<Int>) -> [MessageID] {
    var found: [MessageID] = []
    standing.forEach(in: places) { slot in
      if let owner = slots.owner(ofContent: Int(slot)) { found.append(owner) }
    }
    return found
  }

  /// The place of a message in this queue, from 0.
  func standingIndex(of message: MessageState) -> Int? {
    guard let slot = slots.contentIndex(of: message.position.value) else { return nil }
    return standing.place(of: slot, in: message.block, of: slots.sequence)
  }
}

/// The place of a message in its queue, if it has one.
struct StandingPlace: Hashable {
  var session: SessionID
  var slot: OperationID
  var block: QueueBlock

  init?(of message: MessageState) {
    guard message.stands else { return nil }
    (session, slot, block) = (message.session, message.position.value, message.block)
  }
}

extension Workspace {
  /// The place of a message in its queue changed.
  mutating func moveStanding(from before: StandingPlace?, to after: StandingPlace?) {
    guard before != after else { return }
    if let before { sessionStates[before.session]?.remove(before) }
    if let after { sessionStates[after.session]?.insert(after) }
  }
}

extension SessionState {
  fileprivate mutating func insert(_ place: StandingPlace) {
    guard let slot = slots.contentIndex(of: place.slot) else { return }
    standing.insert(slot, into: place.block, of: slots.sequence)
  }

  fileprivate mutating func remove(_ place: StandingPlace) {
    guard let slot = slots.contentIndex(of: place.slot) else { return }
    standing.remove(slot, from: place.block, of: slots.sequence)
  }
}
