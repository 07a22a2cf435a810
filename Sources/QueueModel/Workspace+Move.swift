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

  /// What was tried first, then urgent messages, otherwise as given.
  private func effectivelySorted(_ ids: [MessageID]) -> [MessageID] {
    func block(_ id: MessageID) -> Int {
      guard let message = messageStates[id] else { return 2 }
      return message.element.registers[.run] != nil ? 0 : message.priority == .urgent ? 1 : 2
    }
    return (0...2).flatMap { number in ids.filter { block($0) == number } }
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

  /// Gives each message a fresh slot; urgent and normal ones are placed each in their own block,
  /// as near to the wanted index as the block allows, because priority goes before place.
  private mutating func place(
    _ ids: [MessageID], between others: [MessageID], at index: Int, in queue: SessionID,
    by author: inout Author
  ) throws(QueueError) {
    guard let session = sessionStates[queue] else { throw .sessionNotFound(id: queue.rawValue) }
    let reference = try self.reference(of: session)
    for priority in Priority.allCases.reversed() {
      let moved = ids.filter { messageStates[$0]?.priority == priority }
      let block = others.enumerated().filter { messageStates[$0.element]?.priority == priority }
      var left = block.last { $0.offset < index }.flatMap { slot(of: $0.element) }
      let right = block.first { $0.offset >= index }.flatMap { slot(of: $0.element) }
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
