import SequenceCRDT

/// A move of threads in the thread queue: each gets a fresh slot next to the slot it was dropped at.
struct ThreadMove {
  private let ids: [SessionID]
  private let target: ThreadTarget

  init(of ids: [SessionID], to target: ThreadTarget) {
    self.ids = ids
    self.target = target
  }

  func write(by author: inout CommandAuthor) throws(QueueError) -> CommandOutcome.Notice {
    try author.checkBatch(ids.count)
    guard !ids.isEmpty else { throw .invalidMove(reason: "it names no thread") }
    guard Set(ids).count == ids.count else {
      throw .invalidMove(reason: "it names a thread twice")
    }
    for id in ids { try requireQueued(id, author) }
    let order = author.workspace.threadOrder()
    let moved = Set(ids)
    let others = order.filter { !moved.contains($0) }
    let index = try index(in: others, moving: moved, total: order.count, author)
    var wanted = others
    wanted.insert(contentsOf: ids, at: index)
    guard wanted != order else { return .unchanged }
    var left = index > 0 ? author.workspace.threadSlot(of: others[index - 1]) : nil
    let right = index < others.count ? author.workspace.threadSlot(of: others[index]) : nil
    for id in ids {
      let session = try author.existingSession(id)
      let origins = author.workspace.threadSlots.origins(behind: left, before: right)
      left = author.emit(
        .placeThread(
          session: try author.reference(of: session), origins: origins, stamp: author.stamp))
    }
    return .moved(position: index + 1)
  }

  /// The index among the threads that stay.
  private func index(
    in others: [SessionID], moving ids: Set<SessionID>, total: Int, _ author: CommandAuthor
  ) throws(QueueError) -> Int {
    switch target {
    case .position(let position):
      guard position >= 1, position <= total else {
        throw .invalidPosition(position: position, count: total)
      }
      return min(position - 1, others.count)
    case .before(let neighbour), .after(let neighbour):
      guard !ids.contains(neighbour) else {
        throw .invalidMove(reason: "a thread cannot be moved next to itself")
      }
      try requireQueued(neighbour, author)
      let index = others.firstIndex(of: neighbour) ?? others.count
      if case .before = target { return index }
      return min(index + 1, others.count)
    }
  }

  private func requireQueued(_ id: SessionID, _ author: CommandAuthor) throws(QueueError) {
    guard try author.existingSession(id).isInThreadQueue else {
      throw .threadNotQueued(session: id.rawValue)
    }
  }
}

extension Workspace {
  fileprivate func threadSlot(of id: SessionID) -> OperationID? {
    sessionStates[id]?.threadPosition?.value
  }
}
