import SequenceCRDT
import SyncTestSupport
import Testing

/// Compares the sequence with the explicit tree of the paper, and tests cases in which other
/// algorithms interleave.
struct RunSequenceTests {
  /// With one time for all units, as in texts, with few times, and with almost as many times as
  /// insertions.
  @Test(arguments: TestSeeds.list(standard: 60), [1, 3, 1_000])
  func randomEditsOfSeveralReplicasGiveTheOrderOfTheTree(seed: UInt64, times: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let count = 2 + generator.below(4)
    var authors = (1...count).map { SequenceAuthor(UInt64($0)) }
    var sent = Array(repeating: Array(repeating: 0, count: count), count: count)
    for _ in 0..<60 {
      let index = generator.below(count)
      if generator.chance(60) {
        // Mostly near each other, so that insertions meet.
        let limit = authors[index].order.count + 1
        let place = generator.chance(50) ? generator.below(limit) : min(limit - 1, 2)
        try authors[index].insert(
          at: place, length: 1 + generator.below(3), time: Int64(generator.below(times)))
      } else {
        let from = generator.below(count)
        guard from != index, sent[from][index] < authors[from].made.count else { continue }
        try authors[index].receive(authors[from].made[sent[from][index]])
        sent[from][index] += 1
      }
      try expectTreeOrder(authors[index], seed)
    }
    let all = authors.flatMap(\.made)
    for index in authors.indices {
      for insertion in all.shuffled(using: &generator) where insertion.id.seq > 0 {
        try authors[index].receive(insertion)
      }
      try expectTreeOrder(authors[index], seed)
      #expect(authors[index].isComplete && authors[index].order == authors[0].order, "seed \(seed)")
    }
    let runs = authors[0].sequence.unnumberedRuns
    for author in authors { #expect(author.sequence.unnumberedRuns == runs, "seed \(seed)") }
    #expect(try RunSequence(runs: runs).unnumberedRuns == runs, "seed \(seed)")
  }

  /// Hiding, copying and removing keep the times: two sequences that know the same insertions have
  /// the same runs, however they got there.
  @Test(arguments: TestSeeds.list(standard: 40, from: 700))
  func timesStayWithTheirUnits(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var authors = (1...3).map { SequenceAuthor(UInt64($0)) }
    for _ in 0..<40 {
      let index = generator.below(3)
      let place = min(authors[index].order.count, generator.below(4))
      try authors[index].insert(
        at: place, length: 1 + generator.below(4), time: Int64(generator.below(3)))
    }
    let all = authors.flatMap(\.made)
    var straight = SequenceAuthor(99)
    for insertion in all { try straight.receive(insertion) }
    var crooked = RunSequence()
    for (index, insertion) in all.enumerated() {
      func integrate(_ sequence: inout RunSequence) throws {
        try sequence.integrate(
          id: insertion.id, length: insertion.length, left: insertion.left, right: insertion.right,
          time: insertion.time)
      }
      if generator.chance(20) {
        // A copy takes an insertion, removes it, and then replaces the original.
        var copy = crooked
        try integrate(&copy)
        try copy.checkInvariants()
        copy.truncate(toUnitCount: crooked.unitCount)
        #expect(copy.canonicalRuns == crooked.canonicalRuns, "seed \(seed)")
        crooked = copy
      }
      try integrate(&crooked)
      let target = all[generator.below(index + 1)]
      try crooked.hide(first: target.id, count: 1 + generator.below(target.length))
      try crooked.checkInvariants()
    }
    for run in crooked.canonicalRuns where !run.isVisible {
      try straight.hide(first: run.id, count: run.length)
    }
    let runs = crooked.unnumberedRuns
    #expect(straight.sequence.unnumberedRuns == runs, "seed \(seed)")
    #expect(try RunSequence(runs: crooked.runs).unnumberedRuns == runs, "seed \(seed)")
  }

  private func expectTreeOrder(_ author: SequenceAuthor, _ seed: UInt64) throws {
    #expect(author.order == author.tree.order(), "seed \(seed)")
    try author.sequence.checkInvariants()
  }

  /// Four concurrent insertions of three replicas at one place, in each of the 24 orders.
  @Test func everyOrderOfFourConcurrentInsertionsGivesOneResult() throws {
    var base = SequenceAuthor(9)
    try base.insert(at: 0, length: 2)
    var authors = [SequenceAuthor(1), SequenceAuthor(20), SequenceAuthor(3)]
    for index in authors.indices { try authors[index].receive(base.made[0]) }
    try authors[0].insert(at: 1)
    try authors[1].insert(at: 1, length: 2)
    try authors[1].insert(at: 1)
    try authors[2].insert(at: 1)
    let all = authors.flatMap(\.made)
    var results: Set<[OperationID]> = []
    for order in Permutations.all(of: all) {
      var reader = SequenceAuthor(99)
      for insertion in base.made + order { try reader.receive(insertion) }
      #expect(reader.isComplete)
      #expect(reader.order == reader.tree.order())
      results.insert(reader.order)
    }
    #expect(results.count == 1)
  }

  /// A faulty or hostile author may name origins that were never side by side. An algorithm that
  /// compares origins, as the YATA family does, would then give different orders on different
  /// replicas.
  @Test(arguments: TestSeeds.list(standard: 60, from: 900))
  func originsThatWereNeverNeighboursStillGiveOneOrder(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var writer = SequenceAuthor(1)
    for number in 0..<12 {
      let order = writer.order
      let left = generator.below(order.count + 1) - 1
      let right = left + 1 + generator.below(order.count - left)
      try writer.receive(
        Insertion(
          id: OperationID(
            replica: ReplicaID(rawValue: UInt64(1 + generator.below(1_000))),
            seq: UInt32(number * 10 + 1)),
          length: 1 + generator.below(3), left: left >= 0 ? order[left] : nil,
          right: right < order.count ? order[right] : nil))
    }
    let all = writer.received
    for _ in 0..<20 {
      var reader = SequenceAuthor(99)
      for insertion in all.shuffled(using: &generator) { try reader.receive(insertion) }
      #expect(reader.tree.order() == writer.tree.order(), "seed \(seed)")
      #expect(reader.order == writer.order, "seed \(seed)")
    }
  }

  /// The smallest such case: a unit is between the third author's origins.
  @Test func aSkippedUnitBetweenOriginsStillGivesOneOrder() throws {
    func id(_ replica: UInt64) -> OperationID {
      OperationID(replica: ReplicaID(rawValue: replica), seq: 1)
    }
    let insertions = [
      Insertion(id: id(4), length: 1), Insertion(id: id(5), length: 1, left: id(4)),
      Insertion(id: id(3), length: 1, right: id(5)), Insertion(id: id(8), length: 1, left: id(4)),
    ]
    var results: Set<[OperationID]> = []
    for order in Permutations.all(of: insertions) {
      var reader = SequenceAuthor(99)
      for insertion in order { try reader.receive(insertion) }
      #expect(reader.tree.order() == [id(4), id(3), id(5), id(8)])
      results.insert(reader.order)
    }
    #expect(results == [[id(4), id(3), id(5), id(8)]])
  }

  @Test func runsTypedForwardsDoNotInterleave() throws {
    try expectNoInterleaving { author in
      for index in 0..<4 { try author.insert(at: index + 1) }
    }
  }

  @Test func runsTypedBackwardsDoNotInterleave() throws {
    try expectNoInterleaving { author in
      for _ in 0..<4 { try author.insert(at: 1) }
    }
  }

  /// Typed backwards, with a tail behind the first unit, between units that others use as origins.
  @Test func runsWithTailsDoNotInterleave() throws {
    try expectNoInterleaving { author in
      try author.insert(at: 1)
      try author.insert(at: 2)
      try author.insert(at: 1)
      try author.insert(at: 1)
      try author.insert(at: 4)
    }
  }

  @Test func runsTypedFromTheMiddleDoNotInterleave() throws {
    try expectNoInterleaving { author in
      try author.insert(at: 1, length: 2)
      try author.insert(at: 2, length: 3)
      try author.insert(at: 3)
    }
  }

  /// Replicas, some with lower and some with higher ids, make the same edit between two units. Each
  /// replica's units must stay side by side for every reader.
  private func expectNoInterleaving(_ edit: (inout SequenceAuthor) throws -> Void) throws {
    var base = SequenceAuthor(50)
    try base.insert(at: 0, length: 2)
    var authors = [SequenceAuthor(10), SequenceAuthor(60), SequenceAuthor(30)]
    for index in authors.indices {
      try authors[index].receive(base.made[0])
      try edit(&authors[index])
    }
    var results: Set<[OperationID]> = []
    for order in Permutations.interleavings(of: authors.map(\.made), limit: 200) {
      var reader = SequenceAuthor(99)
      for insertion in base.made + order { try reader.receive(insertion) }
      #expect(reader.order == reader.tree.order())
      results.insert(reader.order)
    }
    #expect(results.count == 1)
    let order = try #require(results.first)
    let middle = order.dropFirst().dropLast().map(\.replica)
    var changes = 0
    for (before, after) in zip(middle, middle.dropFirst()) where before != after { changes += 1 }
    #expect(changes == authors.count - 1, "interleaved: \(middle)")
  }

  /// The figure of the paper that separates FugueMax from Fugue: the later right origin goes first.
  @Test func amongEqualLeftOriginsTheLaterRightOriginGoesFirst() throws {
    var first = SequenceAuthor(2)
    let middle = try first.insert(at: 0)
    var second = SequenceAuthor(1)
    // Saw neither unit, so its origins are the start and the end.
    let concurrent = try second.insert(at: 0)
    let before = try first.insert(at: 0)
    for order in Permutations.all(of: [middle, concurrent, before]) {
      var reader = SequenceAuthor(99)
      for insertion in order { try reader.receive(insertion) }
      #expect(reader.order == reader.tree.order())
      #expect(reader.order == [concurrent.id, before.id, middle.id])
    }
  }
}

extension RunSequence {
  /// The canonical runs without the numbers of their units, which depend on the order of arrival.
  fileprivate var unnumberedRuns: [Run] {
    canonicalRuns.map { run in
      var run = run
      run.contentStart = 0
      return run
    }
  }
}

/// Refusals of a sequence, and the hiding of units.
struct RunSequenceFaultTests {
  private let replica = ReplicaID(rawValue: 1)

  private func id(_ seq: UInt32) -> OperationID { OperationID(replica: replica, seq: seq) }

  private func sequence(length: Int) throws -> RunSequence {
    var sequence = RunSequence()
    try sequence.integrate(id: id(1), length: length, left: nil, right: nil)
    return sequence
  }

  @Test func unknownOriginsAreRefusedAndChangeNothing() throws {
    var sequence = try sequence(length: 3)
    let before = sequence.runs
    #expect(throws: SequenceFault.unknownOrigin(id(7))) {
      try sequence.integrate(id: id(8), length: 1, left: id(7), right: nil)
    }
    #expect(throws: SequenceFault.unknownOrigin(id(7))) {
      try sequence.integrate(id: id(8), length: 1, left: nil, right: id(7))
    }
    #expect(sequence.runs == before)
  }

  @Test func originsInTheWrongOrderAreRefused() throws {
    var sequence = try sequence(length: 3)
    #expect(throws: SequenceFault.originsOutOfOrder) {
      try sequence.integrate(id: id(8), length: 1, left: id(3), right: id(1))
    }
    #expect(throws: SequenceFault.originsOutOfOrder) {
      try sequence.integrate(id: id(8), length: 1, left: id(2), right: id(2))
    }
  }

  @Test func hidingKeepsUnitsAsAnchors() throws {
    var sequence = try sequence(length: 5)
    try sequence.hide(first: id(2), count: 3)
    #expect(sequence.visibleCount == 2)
    #expect(sequence.unitCount == 5)
    #expect(!sequence.isVisible(id(3)))
    #expect(sequence.contains(id(3)))
    try sequence.integrate(id: id(6), length: 1, left: id(3), right: id(4))
    #expect(sequence.isVisible(id(6)))
    try sequence.checkInvariants()
  }

  @Test func hidingTwiceCountsOnce() throws {
    var sequence = try sequence(length: 4)
    try sequence.hide(first: id(1), count: 2)
    try sequence.hide(first: id(2), count: 2)
    #expect(sequence.visibleCount == 1)
    try sequence.checkInvariants()
  }

  @Test func hidingMoreThanThereIsHidesNothing() throws {
    var sequence = try sequence(length: 4)
    #expect(throws: SequenceFault.self) { try sequence.hide(first: id(3), count: 3) }
    #expect(sequence.visibleCount == 4)
  }

  @Test func runsThatContradictThemselvesAreRefused() throws {
    var runs = try sequence(length: 4).runs
    runs[0].length = 0
    #expect(throws: SequenceFault.self) { try RunSequence(runs: runs) }
    runs = try sequence(length: 4).runs
    runs.append(runs[0])
    #expect(throws: SequenceFault.self) { try RunSequence(runs: runs) }
    runs = try sequence(length: 4).runs
    runs[0].id.seq = .max
    #expect(throws: SequenceFault.self) { try RunSequence(runs: runs) }
  }

  @Test(arguments: TestSeeds.list(standard: 20, from: 500))
  func aSequenceRestoredFromItsRunsGoesOnAsTheFirst(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var author = SequenceAuthor(1)
    for _ in 0..<30 {
      try author.insert(at: generator.below(author.order.count + 1), length: 1 + generator.below(3))
    }
    var first = author.sequence
    try first.hide(first: id(UInt32(1 + generator.below(20))), count: 5)
    var second = try RunSequence(runs: first.runs)
    #expect(second.canonicalRuns.map(\.id) == first.canonicalRuns.map(\.id))
    let left = author.order[generator.below(author.order.count)]
    let origins = try #require(first.origins(behind: left))
    let other = OperationID(replica: ReplicaID(rawValue: 2), seq: 1)
    try first.integrate(
      id: other, length: 2, left: origins.left, right: origins.right)
    try second.integrate(
      id: other, length: 2, left: origins.left, right: origins.right)
    #expect(
      second.canonicalRuns.map(\.id) == first.canonicalRuns.map(\.id), "seed \(seed)")
  }
}
