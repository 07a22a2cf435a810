import SequenceCRDT
import SyncTestSupport
import Testing

/// Every way in which three replicas can make a number of insertions. Each comes after having seen
/// all or none of the others' earlier ones, and all are read in every order.
struct ExhaustiveOrderTests {
  /// The times of the insertions, in the order of their making: no times, correct clocks, clocks
  /// that go back, and partly equal times.
  static let times: [[Int64]] = [[0, 0, 0, 0], [1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 2, 1]]

  /// Three insertions take seconds in a debug build; four are for `COSPOOL_EXHAUSTIVE=1`.
  @Test(arguments: [[1, 2, 3], [3, 1, 2], [2, 3, 1]] as [[UInt64]], times)
  func everyMeetingOfThreeReplicasGivesTheOrderOfTheTree(
    replicas: [UInt64], times: [Int64]
  ) throws {
    var base = SequenceAuthor(9)
    try base.insert(at: 0, length: 2)
    let authors = try replicas.map { number in
      var author = SequenceAuthor(number)
      try author.receive(base.made[0])
      return author
    }
    var search = Search(base: base.made, times: times, depth: TestEffort.isExhaustive ? 4 : 3)
    try search.extend(authors, made: [])
    #expect(search.meetings > 1_000)
    #expect(search.disagreements == [])
  }

  private struct Search {
    let base: [Insertion]
    let times: [Int64]
    let depth: Int
    private(set) var meetings = 0
    /// The first few disagreements.
    private(set) var disagreements: [String] = []

    init(base: [Insertion], times: [Int64], depth: Int) {
      self.base = base
      self.times = times
      self.depth = depth
    }

    mutating func extend(_ authors: [SequenceAuthor], made: [Insertion]) throws {
      guard made.count < depth else { return try read(made) }
      for index in authors.indices {
        for seesAll in made.isEmpty ? [false] : [false, true] {
          var author = authors[index]
          if seesAll {
            for insertion in made where insertion.id.replica != author.replica {
              try author.receive(insertion)
            }
          }
          for place in 0...author.order.count {
            var next = author
            // The last insertion is a run, so that runs meet single units.
            let insertion = try next.insert(
              at: place, length: made.count + 1 == depth ? 2 : 1, time: times[made.count])
            var others = authors
            others[index] = next
            try extend(others, made: made + [insertion])
          }
        }
      }
    }

    private mutating func read(_ made: [Insertion]) throws {
      meetings += 1
      var first: [OperationID]?
      for order in Permutations.all(of: made) {
        var reader = SequenceAuthor(99)
        for insertion in base + order { try reader.receive(insertion) }
        let found = reader.order
        if found != first ?? reader.tree.order() || !reader.isComplete,
          disagreements.count < 5
        {
          disagreements.append("\(order)")
        }
        first = found
      }
    }
  }

  /// Hides units beside the insertions of another replica: hiding never moves anything.
  @Test func hidingBetweenInsertionsMovesNothing() throws {
    var base = SequenceAuthor(9)
    let run = try base.insert(at: 0, length: 4)
    for hidden in 0..<4 {
      for place in 0...4 {
        var author = SequenceAuthor(1)
        try author.receive(run)
        let insertion = try author.insert(at: place, length: 2)
        let first = try #require(run.id.advanced(by: hidden))
        for count in 1...4 - hidden {
          var before = base.sequence
          try before.hide(first: first, count: count)
          try before.integrate(
            id: insertion.id, length: 2, left: insertion.left, right: insertion.right)
          var behind = author.sequence
          try behind.hide(first: first, count: count)
          #expect(before.canonicalRuns == behind.canonicalRuns)
          #expect(before.visibleCount == 6 - count)
          try before.checkInvariants()
          try behind.checkInvariants()
        }
      }
    }
  }
}
