import SequenceCRDT
import SyncTestSupport

/// Insertions that all meet in one gap: these are quadratic if siblings are examined one by one.
enum GapWorkload: String, CaseIterable, Sendable {
  /// Each of many replicas inserts one unit between the same two units.
  case manyReplicas
  /// The same, between the start and the end of an empty list.
  case manyReplicasInAnEmptyList
  /// One replica types backwards: each unit before its last one.
  case backwards
  /// Eight replicas type backwards in one gap without seeing each other's units.
  case manyBackwards
  /// Each replica appends behind another one's unit: a chain as deep as the list is long.
  case chain
  /// Two replicas take turns appending behind each other's units.
  case turns
  /// All units are below one unit, each with a different right origin.
  case differentRightOrigins
  /// Each unit goes between the start and a unit in the middle of the list.
  case acrossTheList
  /// Each unit goes between two units that were never neighbours, anywhere in the list.
  case anywhere

  /// The insertions, in an order in which each comes after the units that it names. Ids are
  /// shuffled, so that the order of arrival is not the order of the list.
  func insertions(_ count: Int, seed: UInt64 = 1) -> [Insertion] {
    var generator = SeededGenerator(seed: seed)
    let base = [unit(1_000_000, 1), unit(1_000_000, 2, left: id(1_000_000, 1))]
    let (left, right) = (base[0].id, base[1].id)
    switch self {
    case .manyReplicas:
      return base
        + mixed(count, &generator).map { unit($0, 1, left: left, right: right) }
    case .manyReplicasInAnEmptyList:
      return mixed(count, &generator).map { unit($0, 1) }
    case .backwards:
      return base + backwards(1, count, left, right)
    case .manyBackwards:
      let typed = (1...8).map { backwards(UInt64($0), count / 8, left, right) }
      return base + (0..<count / 8).flatMap { step in typed.map { $0[step] } }
    case .chain:
      var last = left
      return base
        + mixed(count, &generator).map { replica in
          defer { last = id(replica, 1) }
          return unit(replica, 1, left: last, right: right)
        }
    case .turns:
      var last = left
      return base
        + (0..<count).map { step in
          let next = id(UInt64(1 + step % 2), UInt32(1 + step / 2))
          defer { last = next }
          return Insertion(id: next, length: 1, left: last, right: right)
        }
    case .differentRightOrigins:
      // A list typed backwards at its end, so that no right origin descends from the left one.
      let half = count / 2
      let ends = (0..<half).map { unit(2_000_000 + UInt64($0), 1) }
      return [unit(1, 1)] + ends
        + mixed(half, &generator).map { replica in
          let end = ends[generator.below(half)].id
          return unit(10 + replica, 1, left: id(1, 1), right: end)
        }
    case .acrossTheList:
      return middle(count)
    case .anywhere:
      return anywhere(count, &generator)
    }
  }

  private func backwards(
    _ replica: UInt64, _ count: Int, _ left: OperationID, _ right: OperationID
  ) -> [Insertion] {
    (0..<count).map { step in
      let before = step == 0 ? right : id(replica, UInt32(step))
      return Insertion(
        id: id(replica, UInt32(step + 1)), length: 1, left: left, right: before)
    }
  }

  private func middle(_ count: Int) -> [Insertion] {
    var made = [unit(1, 1)]
    for step in 1..<count {
      made.append(unit(UInt64(step + 1), 1, right: made[step / 2].id))
    }
    return made
  }

  private func anywhere(_ count: Int, _ generator: inout SeededGenerator) -> [Insertion] {
    // Later units are further right here, so that the origins are in order.
    var made = [unit(1, 1)]
    for step in 1..<count {
      let left = generator.below(made.count)
      made.append(unit(UInt64(step + 1), 1, left: made[left].id))
    }
    return made
  }

  private func mixed(_ count: Int, _ generator: inout SeededGenerator) -> [UInt64] {
    (1...UInt64(count)).shuffled(using: &generator)
  }

  private func id(_ replica: UInt64, _ seq: UInt32) -> OperationID {
    OperationID(replica: ReplicaID(rawValue: replica), seq: seq)
  }

  private func unit(
    _ replica: UInt64, _ seq: UInt32, left: OperationID? = nil, right: OperationID? = nil
  ) -> Insertion {
    Insertion(id: id(replica, seq), length: 1, left: left, right: right)
  }
}
