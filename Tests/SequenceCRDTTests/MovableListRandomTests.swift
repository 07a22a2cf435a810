import SequenceCRDT
import SyncTestSupport
import Testing

/// Replicas that change a list at random, and learn of each other in any order.
struct MovableListRandomTests {
  /// Several replicas, and all that was ever done in an order in which it can be applied.
  private struct Group {
    var generator: SeededGenerator
    var lists: [MovableList]
    var created: [ListOperation] = []

    init(seed: UInt64) {
      generator = SeededGenerator(seed: seed)
      let count = 3 + generator.below(2)
      var ids: Set<UInt64> = []
      while ids.count < count { ids.insert(UInt64(1 + generator.below(50))) }
      lists = ids.sorted().map { MovableList(replica: ReplicaID(rawValue: $0)) }
    }

    /// What a replica knows.
    func known(to index: Int) -> [ListOperation] {
      let vector = lists[index].vector
      return created.filter { vector.contains($0.id) }
    }

    mutating func change(_ index: Int) throws {
      let before = lists[index].vector
      let count = lists[index].count
      let stamp = Stamp(milliseconds: Int64(generator.below(40)))
      switch generator.below(count == 0 ? 1 : 8) {
      case 0, 1:
        let values = (0...generator.below(3)).map { _ in value() }
        try lists[index].insert(values, at: generator.below(count + 1), stamp: stamp)
      case 2:
        try lists[index].append(value(), stamp: stamp)
      case 3, 4:
        try lists[index].set(value(), at: generator.below(count), stamp: stamp)
      case 5, 6:
        let start = generator.below(count)
        let length = 1 + generator.below(min(3, count - start))
        try lists[index].move(
          start..<start + length, to: generator.below(count - length + 1), stamp: stamp)
      default:
        let start = generator.below(count)
        try lists[index].remove(start..<start + 1 + generator.below(min(2, count - start)))
      }
      created += lists[index].log.since(before).operations
    }

    private mutating func value() -> ListValue {
      generator.chance(70)
        ? .integer(Int64(generator.below(1_000)) - 500) : .text("t\(generator.below(9))")
    }

    /// One replica hears of some of what another knows, perhaps of some of it again.
    mutating func deliver(from source: Int, to target: Int) throws {
      let vector = lists[target].vector
      var news = known(to: source).filter { !vector.contains($0.id) || generator.chance(5) }
      if generator.chance(40) { news.removeLast(generator.below(news.count + 1)) }
      if generator.chance(50) {
        try lists[target].merge(ListLog(news))
      } else {
        for operation in news { try lists[target].merge(operation) }
      }
    }

    /// A replica is stored and opened again.
    mutating func restore(_ index: Int) throws {
      let image = lists[index].image
      let restored = try MovableList(image: image, replica: lists[index].replica)
      #expect(restored.image == image)
      lists[index] = restored
    }
  }

  private func compare(_ group: Group, _ index: Int, _ comment: Comment) throws {
    try group.lists[index].checkInvariants()
    #expect(group.lists[index].values == SlowList(group.known(to: index)).values, comment)
  }

  @Test(arguments: TestSeeds.list(standard: 60))
  func everyReplicaIsWhatItsOperationsSay(seed: UInt64) throws {
    let comment: Comment = "COSPOOL_SEED=\(seed)"
    var group = Group(seed: seed)
    for _ in 0..<60 {
      let index = group.generator.below(group.lists.count)
      switch group.generator.below(10) {
      case 0..<6:
        try group.change(index)
      case 6..<9:
        let other = (index + 1 + group.generator.below(group.lists.count - 1)) % group.lists.count
        try group.deliver(from: other, to: index)
      default:
        try group.restore(index)
      }
      try compare(group, index, comment)
    }
    for index in group.lists.indices {
      let vector = group.lists[index].vector
      try group.lists[index].merge(ListLog(group.created.filter { !vector.contains($0.id) }))
      try compare(group, index, comment)
      #expect(group.lists[index].image == group.lists[0].image, comment)
    }
  }
}
