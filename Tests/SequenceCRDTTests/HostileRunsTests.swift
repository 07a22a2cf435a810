import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Lists of runs as a faulty or hostile snapshot may hold them. A list that is accepted must be a
/// sequence like any other: later insertions terminate, and have the same place as on every other
/// replica.
struct HostileRunsTests {
  @Test(arguments: TestSeeds.list(standard: 300, from: 7_000))
  func acceptedInsertionsFollowTheOrderOfTheTree(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let runs = HostileRunsTests.damaged(try HostileRunsTests.runs(&generator), &generator)
    guard var sequence = try? RunSequence(runs: runs) else { return }
    try sequence.checkInvariants()
    var tree = try #require(
      HostileRunsTests.tree(of: runs), "seed \(seed): taken, though origins go round in circles")
    #expect(HostileRunsTests.order(sequence) == tree.order(), "seed \(seed): \(runs)")
    for number in 0..<8 {
      let order = tree.order()
      let left = generator.below(order.count + 1) - 1
      let right = left + 1 + generator.below(order.count - left)
      let origins = Operation.Origins(
        left: left >= 0 ? order[left] : nil, right: right < order.count ? order[right] : nil)
      let id = OperationID(replica: ReplicaID(rawValue: 77), seq: UInt32(number + 1))
      try sequence.integrate(id: id, length: 1, left: origins.left, right: origins.right)
      tree.insert(id, origins: origins)
      #expect(HostileRunsTests.order(sequence) == tree.order(), "seed \(seed): \(runs)")
    }
  }

  /// The smallest lists that contradict the tree: two insertions at one place in the wrong order,
  /// and a unit outside the subtree to which it belongs.
  @Test func anotherOrderThanTheTreesIsRefused() throws {
    func run(_ replica: UInt64, _ left: UInt64?, _ right: UInt64?) -> RunSequence.Run {
      func id(_ replica: UInt64) -> OperationID {
        OperationID(replica: ReplicaID(rawValue: replica), seq: 1)
      }
      return RunSequence.Run(
        id: id(replica), length: 1, left: left.map(id), right: right.map(id), isVisible: true)
    }
    #expect(try RunSequence(runs: [run(1, nil, nil), run(2, nil, nil)]).unitCount == 2)
    #expect(throws: SequenceFault.self) {
      try RunSequence(runs: [run(2, nil, nil), run(1, nil, nil)])
    }
    // 3 is below 1 and must be before 2.
    let ordered = [run(1, nil, nil), run(3, 1, nil), run(2, nil, nil)]
    #expect(try RunSequence(runs: ordered).unitCount == 3)
    #expect(throws: SequenceFault.self) {
      try RunSequence(runs: [run(1, nil, nil), run(2, nil, nil), run(3, 1, nil)])
    }
  }

  @Test func originsInCirclesAreRefused() {
    func id(_ replica: UInt64) -> OperationID {
      OperationID(replica: ReplicaID(rawValue: replica), seq: 1)
    }
    #expect(throws: SequenceFault.self) {
      try RunSequence(runs: [
        .init(id: id(1), length: 1, left: nil, right: id(2), isVisible: true),
        .init(id: id(2), length: 1, left: id(1), right: nil, isVisible: true),
      ])
    }
    #expect(throws: SequenceFault.self) {
      try RunSequence(runs: [.init(id: id(1), length: 1, left: id(1), right: nil, isVisible: true)])
    }
    #expect(throws: SequenceFault.self) {
      try RunSequence(runs: [.init(id: id(1), length: 1, left: nil, right: id(1), isVisible: true)])
    }
  }

  /// The runs of a few replicas' work.
  private static func runs(_ generator: inout SeededGenerator) throws -> [RunSequence.Run] {
    var authors = (1...3).map { SequenceAuthor($0) }
    for _ in 0..<(3 + generator.below(12)) {
      let index = generator.below(3)
      let place = generator.below(authors[index].order.count + 1)
      let made = try authors[index].insert(at: place, length: 1 + generator.below(3))
      for other in authors.indices where other != index && generator.chance(40) {
        try authors[other].receive(made)
      }
    }
    for made in authors.flatMap(\.made) { try authors[0].receive(made) }
    var sequence = authors[0].sequence
    for _ in 0..<2 {
      let hidden = authors[0].order[generator.below(authors[0].order.count)]
      try sequence.hide(first: hidden, count: 1)
    }
    return sequence.canonicalRuns
  }

  private static func damaged(
    _ whole: [RunSequence.Run], _ generator: inout SeededGenerator
  ) -> [RunSequence.Run] {
    var runs = whole
    for _ in 0..<(1 + generator.below(2)) {
      let index = generator.below(runs.count)
      let other = runs[generator.below(runs.count)]
      switch generator.below(6) {
      case 0: runs.swapAt(index, generator.below(runs.count))
      case 1: runs[index].left = other.unitID(at: generator.below(other.length))
      case 2: runs[index].right = other.unitID(at: generator.below(other.length))
      case 3: runs[index].left = nil
      case 4: runs[index].right = nil
      default: runs[index].id.replica = other.id.replica
      }
    }
    return runs
  }

  private static func order(_ sequence: RunSequence) -> [OperationID] {
    sequence.runs.flatMap { run in (0..<run.length).map(run.unitID(at:)) }
  }

  /// The tree of the units, each inserted after its origins; nil if no such order exists.
  private static func tree(of runs: [RunSequence.Run]) -> SlowSequence? {
    var tree = SlowSequence()
    var waiting: [(id: OperationID, origins: Operation.Origins)] = runs.flatMap { run in
      (0..<run.length).map { offset in
        let left = offset == 0 ? run.left : run.unitID(at: offset - 1)
        return (run.unitID(at: offset), Operation.Origins(left: left, right: run.right))
      }
    }
    while !waiting.isEmpty {
      let ready = waiting.firstIndex { unit in
        [unit.origins.left, unit.origins.right].compactMap { $0 }.allSatisfy(tree.contains)
      }
      guard let ready else { return nil }
      let unit = waiting.remove(at: ready)
      tree.insert(unit.id, origins: unit.origins)
    }
    return tree
  }
}
