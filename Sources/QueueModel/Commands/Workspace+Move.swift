import SequenceCRDT

/// Moving messages: each move makes a fresh slot next to the slot it was dropped at.
extension Workspace {
  mutating func move(
    _ ids: [MessageID], to target: MoveTarget, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    guard let first = ids.first else { throw .invalidMove(reason: "it names no message") }
    guard Set(ids).count == ids.count else {
      throw .invalidMove(reason: "it names a message twice")
    }
    var sources: Set<SessionID> = []
    for id in ids { sources.insert(try waitingMessage(id).session) }
    let queue = try destination(of: target, moving: ids, from: sources)
    let order = effectiveOrder(of: queue)
    let others = order.filter { !ids.contains($0) }
    let index = try self.index(for: target, in: others, moving: ids, total: order.count)
    var wanted = others
    wanted.insert(contentsOf: ids, at: index)
    if sources == [queue], effectivelySorted(wanted) == order { return .unchanged }
    guard let session = sessionStates[queue] else { throw .sessionNotFound(id: queue.rawValue) }
    if sources != [queue] {
      emit(
        .addTag(
          element: try reference(of: session), field: .exists,
          clears: session.element.tagIDs(.exists), note: ""),
        by: &author)
    }
    try place(ids, between: others, at: index, in: queue, by: &author)
    let position = effectiveOrder(of: queue).firstIndex(of: first)
    return .moved(position: position.map { $0 + 1 } ?? 0)
  }

  /// The parts of a queue in effective order, whatever the slots say.
  private enum Block: CaseIterable {
    case tried, urgent, normal
  }

  private func block(of id: MessageID) -> Block {
    guard let message = messageStates[id] else { return .normal }
    return message.element.registers[.run] != nil
      ? .tried : message.priority == .urgent ? .urgent : .normal
  }

  /// Block by block, otherwise as given.
  private func effectivelySorted(_ ids: [MessageID]) -> [MessageID] {
    Block.allCases.flatMap { part in ids.filter { block(of: $0) == part } }
  }

  private func destination(
    of target: MoveTarget, moving ids: [MessageID], from sources: Set<SessionID>
  ) throws(QueueError) -> SessionID {
    switch target {
    case .position:
      guard let source = sources.first, sources.count == 1 else {
        throw .invalidMove(
          reason: "the messages are in several queues; name a message to move them next to")
      }
      return source
    case .before(let neighbour), .after(let neighbour):
      guard !ids.contains(neighbour) else {
        throw .invalidMove(reason: "a message cannot be moved next to itself")
      }
      return try waitingMessage(neighbour).session
    }
  }

  /// The index among the messages that stay.
  private func index(
    for target: MoveTarget, in others: [MessageID], moving ids: [MessageID], total: Int
  ) throws(QueueError) -> Int {
    switch target {
    case .position(let position):
      guard position >= 1, position <= total else {
        throw .invalidPosition(position: position, count: total)
      }
      return min(position - 1, others.count)
    case .before(let neighbour):
      return others.firstIndex(of: neighbour) ?? others.count
    case .after(let neighbour):
      return others.firstIndex(of: neighbour).map { $0 + 1 } ?? others.count
    }
  }

  /// Gives each message a fresh slot; each is placed in its own block, as near to the wanted index as
  /// the block allows, because the blocks go before place: the slot of a neighbour in another block
  /// may be anywhere.
  private mutating func place(
    _ ids: [MessageID], between others: [MessageID], at index: Int, in queue: SessionID,
    by author: inout Author
  ) throws(QueueError) {
    guard let session = sessionStates[queue] else { throw .sessionNotFound(id: queue.rawValue) }
    let reference = try self.reference(of: session)
    for part in Block.allCases {
      let moved = ids.filter { block(of: $0) == part }
      let staying = others.enumerated().filter { block(of: $0.element) == part }
      var left = staying.last { $0.offset < index }.flatMap { slot(of: $0.element) }
      let right = staying.first { $0.offset >= index }.flatMap { slot(of: $0.element) }
      for id in moved {
        guard let message = messageStates[id]?.element.references.first,
          let slots = sessionStates[queue]?.slots
        else { continue }
        let origins =
          left.flatMap { slots.origins(behind: $0) } ?? right.flatMap { slots.origins(before: $0) }
          ?? slots.originsAtEnd
        left = emit(
          .placeMessage(
            message: message, session: reference, origins: .init(origins), stamp: author.stamp),
          by: &author)
      }
    }
  }

  private func slot(of id: MessageID) -> OperationID? {
    messageStates[id]?.position.value
  }
}
