import SequenceCRDT

/// The slots of a list that merges, and the owner of each: a message of a queue, or a session of
/// the thread queue. The owner's register names its current slot: at most one of its slots is its
/// place.
struct SlotList<Owner: Hashable & Sendable>: Sendable {
  private(set) var sequence = RunSequence()
  private var owners = SlotOwners<Owner>()

  init() {}

  /// A list with existing slots.
  ///
  /// - Parameter owners: of the slots that are an owner's place, by ascending content index.
  init(_ sequence: RunSequence, owners: [(index: Int, owner: Owner)]) {
    self.sequence = sequence
    self.owners = SlotOwners(restored: owners, count: sequence.unitCount)
  }

  /// The number of slots, including dead ones.
  var count: Int { sequence.unitCount }

  func contains(_ slot: OperationID) -> Bool { sequence.contains(slot) }

  /// The number of a slot in the list; nil if it has none.
  func contentIndex(of slot: OperationID) -> UInt32? {
    sequence.contentIndex(of: slot).map(UInt32.init)
  }

  /// The owner of the slot with a number; nil if it was dead in a snapshot.
  func owner(ofContent number: Int) -> Owner? { owners[number] }

  /// The owner of a slot; nil if the slot is unknown, or was dead in a snapshot.
  func owner(of slot: OperationID) -> Owner? {
    sequence.contentIndex(of: slot).flatMap { owners[$0] }
  }

  /// The owned slots in order.
  ///
  /// - Complexity: O(runs + owners).
  var inOrder: [(slot: OperationID, owner: Owner)] { owners.inOrder(of: sequence) }

  /// Inserts the slot that an operation makes.
  mutating func insert(
    _ id: OperationID, _ origins: Operation.Origins, for owner: Owner
  ) throws(MergeError) {
    do {
      try sequence.integrate(
        id: id, length: 1, left: origins.left, right: origins.right, time: origins.time)
    } catch {
      throw MergeError(error, operation: id)
    }
    owners.append(owner)
  }

  /// Removes the slots that were inserted last.
  mutating func truncate(to count: Int) {
    sequence.truncate(toUnitCount: count)
    owners.truncate(to: count)
  }

  func checkInvariants(_ name: String) throws(InvariantViolation) {
    guard owners.count == sequence.unitCount else {
      throw InvariantViolation(reason: "\(name): slots and owners differ in number")
    }
  }
}

extension SlotList {
  /// The neighbours of a fresh slot at the end.
  var originsAtEnd: Operation.Origins { .init(sequence.originsAtEnd) }

  /// The neighbours of a fresh slot: after one, else before another, else at the end.
  func origins(behind left: OperationID?, before right: OperationID?) -> Operation.Origins {
    .init(
      left.flatMap { sequence.origins(behind: $0) }
        ?? right.flatMap { sequence.origins(before: $0) } ?? sequence.originsAtEnd)
  }

  /// The owner of the nearest slot on one side; a limited number of dead slots is skipped.
  ///
  /// - Parameter holds: whether a slot is its owner's place.
  func neighbour(
    of slot: OperationID, isLeft: Bool, _ holds: (OperationID, Owner) -> Bool
  ) -> Owner? {
    var place = sequence.contentIndex(of: slot)
    for _ in 0..<16 {
      guard let here = place else { return nil }
      place = sequence.content(besides: here, isLeft: isLeft)
      if let number = place, let owner = owners[number],
        holds(sequence.id(ofContent: number), owner)
      {
        return owner
      }
    }
    return nil
  }
}

extension SlotList<SessionID> {
  /// The thread queue of an image.
  ///
  /// - Parameter places: the winning slot of each session that has one.
  init(
    restoring runs: [WorkspaceImage.SlotRun], places: [(slot: OperationID, session: SessionID)]
  ) throws(MergeError) {
    try self.init(RunSequence.restored(from: runs), places: places)
  }

  /// - Throws: `MergeError.invalidImage` if a place is not a slot, or has two owners.
  init(
    _ slots: RunSequence, places: [(slot: OperationID, session: SessionID)]
  ) throws(MergeError) {
    var owners: [(index: Int, owner: SessionID)] = []
    for place in places {
      guard let unit = slots.contentIndex(of: place.slot) else {
        throw .invalidImage(reason: "session \(place.session) is at no slot")
      }
      owners.append((index: unit, owner: place.session))
    }
    owners.sort { $0.index < $1.index }
    guard zip(owners, owners.dropFirst()).allSatisfy({ $0.index < $1.index }) else {
      throw .invalidImage(reason: "two sessions are at one slot")
    }
    self.init(slots, owners: owners)
  }
}
