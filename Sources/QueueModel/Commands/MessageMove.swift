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
    let present = presentPlaces(in: queue, author.workspace)
    let gaps = try gaps(in: queue, leaving: present.values.sorted(), author.workspace)
    let places = wantedPlaces(in: gaps)
    if sources == [queue], places.allSatisfy({ present[$0] == $1 }) {
      return .unchanged
    }
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
    return .moved(position: places[first].map { $0 + 1 } ?? 0)
  }

  /// The place in a block of messages that are moved between others.
  private struct Gap {
    var moved: [MessageID]
    /// The number of others before it.
    var index: Int
    /// The slots of its neighbours, if they are in the same block.
    var left: OperationID?
    var right: OperationID?
  }

  /// The places of those that are in the queue now, from 0.
  private func presentPlaces(
    in queue: SessionID, _ workspace: Workspace
  ) -> [MessageID: Int] {
    var places: [MessageID: Int] = [:]
    for id in ids where workspace.messageStates[id]?.session == queue {
      places[id] = workspace.waitingIndex(of: id)
    }
    return places
  }

  /// The gap of each block, in the order of the blocks, as near to the wanted index as the block allows:
  /// blocks go before places, so the slot of a neighbour in another block may be anywhere.
  ///
  /// - Parameter leaving: the places of those that leave, ascending; the others close up.
  /// - Complexity: O(moved² + moved · log² slots).
  private func gaps(
    in queue: SessionID, leaving: [Int], _ workspace: Workspace
  ) throws(QueueError) -> [Gap] {
    func amongOthers(_ index: Int) -> Int { index - leaving.count { $0 < index } }
    func slot(ofOther index: Int) -> OperationID? {
      workspace.waitingSlot(at: leaving.reduce(index) { $1 <= $0 ? $0 + 1 : $0 }, in: queue)
    }
    let index = try wantedIndex(in: queue, workspace, amongOthers)
    let moved = Dictionary(grouping: ids) { workspace.messageStates[$0]?.block ?? .normal }
    return QueueBlock.allCases.compactMap { block -> Gap? in
      guard let moved = moved[block] else { return nil }
      let places = workspace.waitingIndices(of: block, in: queue)
      let start = amongOthers(places.lowerBound)
      let end = amongOthers(places.upperBound)
      let place = min(max(index, start), end)
      return Gap(
        moved: moved, index: place, left: place > start ? slot(ofOther: place - 1) : nil,
        right: place < end ? slot(ofOther: place) : nil)
    }
  }

  /// The places of the messages once the gaps are filled, from 0.
  private func wantedPlaces(in gaps: [Gap]) -> [MessageID: Int] {
    var places: [MessageID: Int] = [:]
    for gap in gaps {
      let start = gap.index + places.count
      for (offset, id) in gap.moved.enumerated() { places[id] = start + offset }
    }
    return places
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
  private func wantedIndex(
    in queue: SessionID, _ workspace: Workspace, _ amongOthers: (Int) -> Int
  ) throws(QueueError) -> Int {
    let total = workspace.waitingCount(of: queue)
    switch target {
    case .position(let position):
      guard position >= 1, position <= total else {
        throw .invalidPosition(position: position, count: total)
      }
      return min(position - 1, amongOthers(total))
    case .before(let neighbour):
      return amongOthers(workspace.waitingIndex(of: neighbour) ?? total)
    case .after(let neighbour):
      return amongOthers(workspace.waitingIndex(of: neighbour).map { $0 + 1 } ?? total)
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
