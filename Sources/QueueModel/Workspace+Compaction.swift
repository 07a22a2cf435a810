import SequenceCRDT

/// How much of a state only serves operations that name it, and how much there is in all.
package struct DeadWeight: Hashable, Sendable {
  /// Slots at which nothing stands, and deleted scalars.
  package var dead = 0
  /// All slots and scalars.
  package var total = 0

  package init(dead: Int = 0, total: Int = 0) {
    self.dead = dead
    self.total = total
  }

  /// Hundredths of the total that are dead.
  package var percent: Int { total == 0 ? 0 : dead * 100 / total }
}

/// Dropping what no later operation will name; SPECIFICATION.md, section "Compaction".
extension Workspace {
  /// The state without dead slots and deleted text, the base of a new epoch.
  ///
  /// What is left of each list becomes a chain: the left origin of a unit is the one before it,
  /// its right origin the end. Ids, vector, digests, elements, tags and registers stay, so the
  /// views are the same. Equal states give equal results. Operations made on the state before do
  /// not fit the result, even where all they name is left: `reanchored` makes them fit.
  ///
  /// - Precondition: no operations wait; they could name what is dropped.
  /// - Complexity: O(state).
  package func compacted() -> Workspace {
    precondition(pending.isEmpty, "waiting operations are re-anchored, not compacted")
    // Packed sessions are unpacked once, not for every reading. One that is damaged stays packed,
    // and the outcome is another than the server's.
    return ((try? thawed()) ?? self).withListsAsChains()
  }

  private func withListsAsChains() -> Workspace {
    var result = self
    var places: [SessionID: [OperationID: MessageID]] = [:]
    for message in messageStates.values {
      places[message.session, default: [:]][message.position.value] = message.id
    }
    var threads: [OperationID: SessionID] = [:]
    for session in sessionStates.values {
      if let slot = session.threadPosition?.value { threads[slot] = session.key }
      let (slots, owners) = Workspace.chain(of: session.slots, places[session.key] ?? [:])
      result.sessionStates[session.key]?.slots = slots
      result.sessionStates[session.key]?.slotOwners = owners
    }
    (result.threadSlots, result.threadSlotOwners) = Workspace.chain(of: threadSlots, threads)
    for message in messageStates.values {
      for (index, addition) in message.additions.enumerated()
      where !addition.content.sequence.isChainOfVisible {
        result.messageStates[message.id]?.additions[index].content =
          addition.content.compacted()
      }
    }
    return result
  }

  /// The slots that are somebody's place, as a chain.
  private static func chain<Owner>(
    of slots: RunSequence, _ places: [OperationID: Owner]
  ) -> (RunSequence, SlotOwners<Owner>) {
    var runs: [RunSequence.Run] = []
    var owners = SlotOwners<Owner>()
    guard !places.isEmpty else { return (RunSequence(), owners) }
    for run in slots.runs {
      for offset in 0..<run.length {
        let id = run.unitID(at: offset)
        guard let owner = places[id] else { continue }
        runs.append(chained: id, length: 1)
        owners.append(owner)
      }
    }
    return (RunSequence(chain: runs), owners)
  }

  /// How much of the state a compaction would drop.
  ///
  /// - Complexity: O(messages + runs).
  package var deadWeight: DeadWeight {
    var weight = DeadWeight()
    var places = 0
    for session in sessionStates.values {
      weight.total += session.slots.unitCount
      if session.threadPosition != nil { places += 1 }
    }
    weight.total += threadSlots.unitCount
    for message in messageStates.values {
      places += 1
      for addition in message.additions {
        weight.total += addition.content.sequence.unitCount
        weight.dead +=
          addition.content.sequence.unitCount - addition.content.sequence.visibleCount
      }
    }
    let slots = sessionStates.values.reduce(threadSlots.unitCount) { $0 + $1.slots.unitCount }
    weight.dead += slots - places
    return weight
  }
}

extension TextContent {
  /// The visible scalars as a chain.
  fileprivate func compacted() -> TextContent {
    var runs: [RunSequence.Run] = []
    for run in sequence.runs where run.isVisible {
      runs.append(chained: run.id, length: run.length)
    }
    do {
      return try TextContent(runs: runs, text: text)
    } catch {
      preconditionFailure("the visible scalars of a text make a chain: \(error)")
    }
  }
}

extension RunSequence {
  fileprivate init(chain runs: [Run]) {
    do {
      try self.init(runs: runs)
    } catch {
      preconditionFailure("the units of a valid sequence make a chain: \(error)")
    }
  }

  /// Whether compacting would change nothing.
  fileprivate var isChainOfVisible: Bool {
    var last: OperationID?
    for run in runs {
      guard run.isVisible, run.left == last, run.right == nil else { return false }
      last = run.unitID(at: run.length - 1)
    }
    return true
  }
}

extension [RunSequence.Run] {
  /// Adds units behind the last one, to its run where their ids continue it.
  fileprivate mutating func append(chained id: OperationID, length: Int) {
    if let last, last.id.advanced(by: last.length) == id {
      self[count - 1].length += length
      return
    }
    append(
      RunSequence.Run(
        id: id, length: length, left: last.map { $0.unitID(at: $0.length - 1) }, right: nil,
        isVisible: true))
  }
}
