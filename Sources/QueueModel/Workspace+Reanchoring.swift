package import SequenceCRDT

/// Moving operations from one epoch to another; SPECIFICATION.md, section "Compaction".
extension Workspace {
  /// Rewrites operations that this state holds so that they mean the same on another base.
  ///
  /// Ids stay, and so does the number of units. Each inserted unit goes between the nearest units
  /// of this state's order that the base holds or that were inserted by earlier ones of the
  /// operations; so everything that both states show stands in the same order in both. What
  /// deletes a scalar that the base no longer holds becomes an operation without effect.
  ///
  /// - Parameter operations: what the base lacks, in an order in which they can be applied.
  /// - Complexity: O(operations + units of the lists they insert into · log).
  package func reanchored(_ operations: [Operation], onto base: Workspace) -> [Operation] {
    let reanchoring = Reanchoring(of: operations, old: self, base: base)
    return operations.flatMap { reanchoring.rewritten($0) }
  }

  /// Gives insertions that this state holds origins in another one, which is about to get them under
  /// other ids: the nearest units that it holds too, or that were inserted by earlier ones of them.
  ///
  /// What waits here keeps its origins, as does everything else.
  ///
  /// - Complexity: O(operations + units of the lists they insert into · log).
  package func replaced(_ operations: [Operation], in other: Workspace) -> [Operation] {
    let reanchoring = Reanchoring(of: operations, old: self, base: other)
    return operations.map { reanchoring.replaced($0) }
  }

  /// Whether what operations inserted here stands in another state, under other ids, as it does here
  /// among what both show.
  ///
  /// - Complexity: O(operations + units of the lists they insert into).
  package func hasOrder(
    of operations: [Operation], in other: Workspace, under renamed: (OperationID) -> OperationID
  ) -> Bool {
    var inserted: [ListKey: Set<OperationID>] = [:]
    for operation in operations {
      guard let key = listInserted(by: operation) else { continue }
      let ids = (0..<operation.length).compactMap { operation.id.advanced(by: $0) }
      inserted[key, default: []].formUnion(ids)
    }
    return inserted.allSatisfy { key, units in
      var there = key
      if case .content(let addition) = key { there = .content(renamed(addition)) }
      let others = other.list(there)?.units ?? []
      let known = Set(others)
      let mine = (list(key)?.units ?? []).map { units.contains($0) ? renamed($0) : $0 }
        .filter(known.contains)
      let both = Set(mine)
      return mine == others.filter(both.contains)
    }
  }

  fileprivate func listInserted(by operation: Operation) -> ListKey? {
    switch operation.body {
    case .addMessage(let addition): key(ofQueue: addition.session)
    case .placeMessage(_, let session, _, _): key(ofQueue: session)
    case .placeThread, .enqueueThread: .threads
    case .insertText(let insertion): .content(insertion.message)
    default: nil
    }
  }

  /// The ordered lists of a workspace.
  enum ListKey: Hashable {
    case threads
    case queue(SessionID)
    case content(OperationID)
  }

  func list(_ key: ListKey) -> RunSequence? {
    switch key {
    case .threads: threadSlots
    case .queue(let session): sessionStates[session]?.slots
    case .content(let addition):
      messageKeys[addition].flatMap { messageStates[$0] }?
        .additions.first { $0.id == addition }?.content.sequence
    }
  }

  func key(ofQueue reference: OperationID) -> ListKey? {
    sessionKeys[reference].map(ListKey.queue)
  }
}

private struct Reanchoring {
  let old: Workspace
  let base: Workspace
  /// By list: which of the operations inserted a unit; base units are not in here.
  private var ranks: [Workspace.ListKey: [OperationID: Int]] = [:]
  /// By list: the units that the base holds.
  private var held: [Workspace.ListKey: Set<OperationID>] = [:]
  private var neighbours: [OperationID: Operation.Origins] = [:]

  init(of operations: [Operation], old: Workspace, base: Workspace) {
    self.old = old
    self.base = base
    for (rank, operation) in operations.enumerated() { note(operation, rank: rank) }
    findNeighbours()
  }

  private func list(of operation: Operation) -> Workspace.ListKey? {
    if case .deleteText(let deletion) = operation.body { return .content(deletion.message) }
    return old.listInserted(by: operation)
  }

  private mutating func note(_ operation: Operation, rank: Int) {
    guard let list = list(of: operation) else { return }
    if held[list] == nil { held[list] = Set(base.list(list)?.units ?? []) }
    if case .deleteText = operation.body { return }
    for offset in 0..<operation.length {
      if let id = operation.id.advanced(by: offset) { ranks[list, default: [:]][id] = rank }
    }
  }

  /// For each first unit of an operation: the nearest unit on either side that is there when the
  /// operation is applied. Units of the base come before all; a stack keeps the candidates.
  private mutating func findNeighbours() {
    for (list, ranks) in ranks {
      let held = held[list] ?? []
      var units: [(id: OperationID, rank: Int)] = []
      for run in old.list(list)?.runs ?? [] {
        for offset in 0..<run.length {
          let id = run.unitID(at: offset)
          // Another state may hold something else under an id of the operations.
          if let rank = ranks[id] {
            units.append((id, rank))
          } else if held.contains(id) {
            units.append((id, -1))
          }
        }
      }
      var stack: [(id: OperationID, rank: Int)] = []
      for unit in units {
        while let top = stack.last, top.rank >= unit.rank, unit.rank >= 0 { stack.removeLast() }
        if unit.rank < 0 { stack.removeAll() }
        neighbours[unit.id] = Operation.Origins(left: stack.last?.id, right: nil)
        stack.append(unit)
      }
      stack = []
      for unit in units.reversed() {
        while let top = stack.last, top.rank >= unit.rank, unit.rank >= 0 { stack.removeLast() }
        if unit.rank < 0 { stack.removeAll() }
        neighbours[unit.id]?.right = stack.last?.id
        stack.append(unit)
      }
    }
  }

  func rewritten(_ operation: Operation) -> [Operation] {
    if case .deleteText(let deletion) = operation.body { return rewritten(deletion, operation.id) }
    return [operation.withOrigins { origins(of: operation, $0) }]
  }

  func replaced(_ operation: Operation) -> Operation {
    operation.withOrigins { neighbours[operation.id] ?? $0 }
  }

  /// Where the unit stood in the old state. One that waited there stood nowhere: it keeps its
  /// origins if they are there, else it goes to the end.
  private func origins(
    of operation: Operation, _ origins: Operation.Origins
  ) -> Operation.Origins {
    if let found = neighbours[operation.id] { return found }
    guard let list = list(of: operation),
      origins.ids.allSatisfy({ isHere($0, in: list) })
    else { return Operation.Origins(left: nil, right: nil) }
    return origins
  }

  private func isHere(_ id: OperationID, in list: Workspace.ListKey) -> Bool {
    held[list]?.contains(id) == true || ranks[list]?[id] != nil
  }

  /// Deletions of dropped scalars clear no tags instead: ids leave no gaps.
  private func rewritten(_ deletion: Operation.DeleteText, _ id: OperationID) -> [Operation] {
    var pieces: [Operation] = []
    for unit in 0..<deletion.count {
      let offset = deletion.backwards ? deletion.count - 1 - unit : unit
      guard let own = id.advanced(by: unit), let target = deletion.first.advanced(by: offset)
      else { continue }
      guard isHere(target, in: .content(deletion.message)) else {
        pieces.append(
          Operation(
            id: own, body: .clearTags(element: deletion.message, field: .live, clears: [])))
        continue
      }
      if let last = pieces.last, case .deleteText(var growing) = last.body,
        growing.first.advanced(by: deletion.backwards ? -1 : growing.count) == target
      {
        growing.count += 1
        if deletion.backwards { growing.first = target }
        pieces[pieces.count - 1] = Operation(id: last.id, body: .deleteText(growing))
      } else {
        pieces.append(
          Operation(
            id: own,
            body: .deleteText(
              Operation.DeleteText(
                message: deletion.message, first: target, count: 1,
                backwards: deletion.backwards))))
      }
    }
    return pieces
  }
}

extension RunSequence {
  /// The ids of all units, in order.
  fileprivate var units: [OperationID] {
    var ids: [OperationID] = []
    ids.reserveCapacity(unitCount)
    for run in runs {
      for offset in 0..<run.length { ids.append(run.unitID(at: offset)) }
    }
    return ids
  }
}

extension Operation {
  /// The operation with other origins, where it has some.
  fileprivate func withOrigins(_ change: (Origins) -> Origins) -> Operation {
    var changed = self
    switch body {
    case .addMessage(var addition):
      addition.origins = change(addition.origins)
      changed.body = .addMessage(addition)
    case .placeMessage(let message, let session, let origins, let stamp):
      changed.body = .placeMessage(
        message: message, session: session, origins: change(origins), stamp: stamp)
    case .placeThread(let session, let origins, let stamp):
      changed.body = .placeThread(session: session, origins: change(origins), stamp: stamp)
    case .enqueueThread(var enqueue):
      enqueue.origins = change(enqueue.origins)
      changed.body = .enqueueThread(enqueue)
    case .insertText(var insertion):
      insertion.origins = change(insertion.origins)
      changed.body = .insertText(insertion)
    case .announceDevice, .openSession, .deleteText, .addTag, .clearTags, .setRegister:
      break
    }
    return changed
  }

  /// The part of the operation behind what a vector knows; nil where it knows all of it.
  package func droppingKnown(to vector: VersionVector) -> Operation? {
    droppingFirst(max(Int(vector[id.replica]) - Int(id.seq) + 1, 0))
  }
}
