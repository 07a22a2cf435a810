import SequenceCRDT

/// A move of messages: each gets a fresh slot next to the slot it was dropped at.
struct MessageMove {
  private let ids: [MessageID]
  private let target: MoveTarget

  init(of ids: [MessageID], to target: MoveTarget) {
    self.ids = ids
    self.target = target
  }

  func write(by author: inout CommandAuthor) throws(QueueError) -> CommandOutcome.Notice {
    try author.checkBatch(ids.count)
    guard let first = ids.first else { throw .invalidMove(reason: "it names no message") }
    guard Set(ids).count == ids.count else {
      throw .invalidMove(reason: "it names a message twice")
    }
    var sources: Set<SessionID> = []
    for id in ids { sources.insert(try author.waitingMessage(id).session) }
    let queue = try destination(from: sources, author)
    let order = author.workspace.effectiveOrder(of: queue)
    let moved = Set(ids)
    let others = order.filter { !moved.contains($0) }
    let index = try index(in: others, total: order.count)
    let gaps = gaps(in: others, at: index, author.workspace)
    var wanted = others
    for gap in gaps.reversed() { wanted.insert(contentsOf: gap.moved, at: gap.index) }
    if sources == [queue], wanted == order { return .unchanged }
    guard let element = author.workspace.sessionStates[queue]?.element,
      let session = element.references.first
    else {
      throw .sessionNotFound(id: queue.rawValue)
    }
    if sources != [queue] {
      author.emit(
        .addTag(
          element: session, field: .exists, clears: element.tagIDs(.exists), note: ""))
    }
    for gap in gaps { fill(gap, in: queue, session, by: &author) }
    return .moved(position: wanted.firstIndex(of: first).map { $0 + 1 } ?? 0)
  }

  /// Where in a block messages go that are moved between others.
  private struct Gap {
    var moved: [MessageID]
    /// How many of the others stand in front of it.
    var index: Int
    /// The slots of its neighbours, where they are in the same block.
    var left: OperationID?
    var right: OperationID?
  }

  /// The gap of each block, in the order of the blocks, as near to the wanted index as the block allows:
  /// blocks go before places, so the slot of a neighbour in another block may be anywhere.
  ///
  /// - Parameter others: in effective order, so that each block stands together.
  /// - Complexity: O(moved + log others).
  private func gaps(in others: [MessageID], at index: Int, _ workspace: Workspace) -> [Gap] {
    func block(_ id: MessageID) -> Int {
      (workspace.messageStates[id]?.block ?? .normal).rawValue
    }
    func slot(_ id: MessageID) -> OperationID? {
      workspace.messageStates[id]?.position.value
    }
    let moved = Dictionary(grouping: ids, by: block)
    return QueueBlock.allCases.compactMap { current in
      guard let moved = moved[current.rawValue] else { return nil }
      let start = others.indices.partitioningIndex { block(others[$0]) >= current.rawValue }
      let end = others.indices.partitioningIndex { block(others[$0]) > current.rawValue }
      let place = min(max(index, start), end)
      return Gap(
        moved: moved, index: place, left: place > start ? slot(others[place - 1]) : nil,
        right: place < end ? slot(others[place]) : nil)
    }
  }

  private func destination(
    from sources: Set<SessionID>, _ author: CommandAuthor
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
      return try author.waitingMessage(neighbour).session
    }
  }

  /// The index among the messages that stay.
  private func index(in others: [MessageID], total: Int) throws(QueueError) -> Int {
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

  /// Gives each message a fresh slot.
  private func fill(
    _ gap: Gap, in queue: SessionID, _ session: OperationID, by author: inout CommandAuthor
  ) {
    var left = gap.left
    for id in gap.moved {
      guard let message = author.workspace.messageStates[id]?.element.references.first,
        let origins = author.workspace.sessionStates[queue]?.slots.origins(
          behind: left, before: gap.right)
      else { continue }
      left = author.emit(
        .placeMessage(message: message, session: session, origins: origins, stamp: author.stamp))
    }
  }
}
