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
    let moved = Set(ids)
    let others = order.filter { !moved.contains($0) }
    let index = try self.index(for: target, in: others, moving: ids, total: order.count)
    let places = places(of: ids, among: others, at: index)
    let wanted = places.flatMap { $0.before + $0.moved + $0.behind }
    if sources == [queue], wanted == order { return .unchanged }
    guard let session = sessionStates[queue] else { throw .sessionNotFound(id: queue.rawValue) }
    if sources != [queue] {
      emit(
        .addTag(
          element: try reference(of: session), field: .exists,
          clears: session.element.tagIDs(.exists), note: ""),
        by: &author)
    }
    try place(at: places, in: queue, by: &author)
    return .moved(position: wanted.firstIndex(of: first).map { $0 + 1 } ?? 0)
  }

  /// What is moved into a block, and what of the block stays on either side of it.
  private struct Place {
    var before: [MessageID] = []
    var moved: [MessageID] = []
    var behind: [MessageID] = []
  }

  /// Where in each block messages go that are moved between others.
  private func places(
    of ids: [MessageID], among others: [MessageID], at index: Int
  ) -> [Place] {
    var places = QueueBlock.allCases.map { _ in Place() }
    func place(_ id: MessageID) -> Int { (messageStates[id]?.block ?? .normal).rawValue }
    for id in others[..<index] { places[place(id)].before.append(id) }
    for id in ids { places[place(id)].moved.append(id) }
    for id in others[index...] { places[place(id)].behind.append(id) }
    return places
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
    at places: [Place], in queue: SessionID, by author: inout Author
  ) throws(QueueError) {
    guard let session = sessionStates[queue] else { throw .sessionNotFound(id: queue.rawValue) }
    let reference = try self.reference(of: session)
    for place in places {
      var left = place.before.last.flatMap(slot)
      let right = place.behind.first.flatMap(slot)
      for id in place.moved {
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
