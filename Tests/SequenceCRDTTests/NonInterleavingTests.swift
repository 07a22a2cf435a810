import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// What FugueMax promises: passages that several replicas insert at one place stay whole, whichever
/// way they are typed. The definitions of forward and backward non-interleaving, and the examples
/// with which the paper separates the algorithms, are from Weidner and Kleppmann, arXiv:2305.00583.
struct NonInterleavingTests {
  /// Forward: units that were inserted behind a unit, directly or not, stay together with it.
  /// Backward: units that were inserted before a unit, directly or not, after the same left
  /// neighbour, stay together in front of it. Whether ids alone or times and then ids order the
  /// units at one place makes no difference.
  @Test(arguments: TestSeeds.list(standard: 150, from: 3_000), [1, 3, 1_000])
  func passagesStayWholeInBothDirections(seed: UInt64, times: Int) throws {
    var generator = SeededGenerator(seed: seed)
    var authors = (1...3).map { _ in SequenceAuthor(1 + UInt64(generator.below(1_000_000))) }
    for _ in 0..<24 {
      let index = generator.below(3)
      let count = authors[index].order.count
      let place = generator.chance(60) ? min(count, 2) : generator.below(count + 1)
      try authors[index].insert(
        at: place, length: 1 + generator.below(2), time: Int64(generator.below(times)))
      guard generator.chance(35) else { continue }
      let from = generator.below(3)
      for made in authors[from].made { try authors[index].receive(made) }
    }
    let all = authors.flatMap(\.made)
    var reader = SequenceAuthor(2_000_000)
    for made in all.shuffled(using: &generator) { try reader.receive(made) }
    let order = reader.order
    #expect(order == reader.tree.order(), "seed \(seed)")
    let origins = Dictionary(
      uniqueKeysWithValues: order.compactMap { id in
        reader.tree.origins(of: id).map { (id, $0) }
      })
    for id in order {
      let behind = order.indices.filter { isBehind(order[$0], id, origins) }
      #expect(areTogether(behind), "forward, seed \(seed): \(id) in \(order)")
      #expect(behind.first.map { order[$0] } == id, "seed \(seed)")
      let before = order.indices.filter { isBefore(order[$0], id, origins) }
      #expect(areTogether(before), "backward, seed \(seed): \(id) in \(order)")
      #expect(before.last.map { order[$0] } == id, "seed \(seed)")
    }
  }

  private typealias Origins = [OperationID: Operation.Origins]

  private func areTogether(_ places: [Int]) -> Bool {
    zip(places, places.dropFirst()).allSatisfy { $0 + 1 == $1 }
  }

  /// Whether the left origins lead from `unit` to `start`, or `unit` is `start`.
  private func isBehind(
    _ unit: OperationID, _ start: OperationID, _ origins: Origins
  ) -> Bool {
    var current: OperationID? = unit
    while let id = current {
      if id == start { return true }
      current = origins[id]?.left
    }
    return false
  }

  /// Whether `unit` is `end`, or is after a unit that was typed before `end`: right origins lead to
  /// `end` through units with the same left origin.
  private func isBefore(_ unit: OperationID, _ end: OperationID, _ origins: Origins) -> Bool {
    if unit == end { return true }
    let left = origins[end]?.left
    var root: OperationID? = unit
    while let id = root {
      if id != end, origins[id]?.left == left {
        var right = origins[id]?.right
        while let next = right {
          if next == end { return true }
          guard origins[next]?.left == left else { break }
          right = origins[next]?.right
        }
      }
      root = origins[id]?.left
    }
    return false
  }

  // The examples. A letter is a unit; the authors do not see each other's units.

  /// Two passages are typed forwards at the same place.
  @Test func forwards() throws {
    let result = try merged([("milk", { Array(0..<$0) }), ("eggs", { Array(0..<$0) })])
    #expect(result == "milkeggs")
  }

  /// Two passages are typed from the last letter to the first, like lists that grow at the top.
  @Test func backwards() throws {
    let result = try merged([
      ("milk", { Array(repeating: 0, count: $0) }), ("eggs", { Array(repeating: 0, count: $0) }),
    ])
    #expect(result == "klimsgge")
  }

  /// One passage is typed forwards, one backwards.
  @Test func forwardsBesideBackwards() throws {
    let result = try merged([
      ("milk", { Array(0..<$0) }), ("eggs", { Array(repeating: 0, count: $0) }),
    ])
    #expect(result == "milksgge" || result == "sggemilk")
  }

  /// Each author types a letter, then one before it and one after it: a head and a tail.
  @Test func withTails() throws {
    let result = try merged([("bac", { _ in [0, 0, 2] }), ("yxz", { _ in [0, 0, 2] })])
    #expect(result == "abc" + "xyz")
  }

  /// One author's tail is typed before its head, and a third author's id is between the two.
  @Test func withTailsOfThree() throws {
    let result = try merged([
      ("bca", { _ in [0, 1, 0] }), ("q", { _ in [0] }), ("yxz", { _ in [0, 0, 2] }),
    ])
    #expect(result == "abc" + "q" + "xyz")
  }

  /// The authors have rising ids, and ids order equal origins, so the passages are in the authors'
  /// order.
  private func merged(
    _ passages: [(letters: String, places: (Int) -> [Int])]
  ) throws -> String {
    var letters: [OperationID: Character] = [:]
    var made: [[Insertion]] = []
    for (number, passage) in passages.enumerated() {
      var author = SequenceAuthor(UInt64(10 + number))
      for (letter, place) in zip(passage.letters, passage.places(passage.letters.count)) {
        letters[try author.insert(at: place).id] = letter
      }
      made.append(author.made)
    }
    var results: Set<String> = []
    for order in Permutations.interleavings(of: made, limit: 100) {
      var reader = SequenceAuthor(99)
      for insertion in order { try reader.receive(insertion) }
      results.insert(String(reader.order.compactMap { letters[$0] }))
    }
    #expect(results.count == 1)
    return results.first ?? ""
  }

  /// The difference between Fugue and FugueMax: of two units with one left origin, the one whose
  /// right origin is later is first. So text that was typed in front of the other stays beside it.
  @Test func theLaterRightOriginIsFirst() throws {
    var base = SequenceAuthor(50)
    let list = try base.insert(at: 0)
    // Right children of the same unit, by two authors.
    var first = SequenceAuthor(1)
    var second = SequenceAuthor(2)
    try first.receive(list)
    try second.receive(list)
    let far = try first.insert(at: 1)
    let near = try second.insert(at: 1)
    // A third author knows only the second's unit and types before it; a fourth types before the
    // first's.
    var third = SequenceAuthor(3)
    for made in [list, near] { try third.receive(made) }
    let beforeNear = try third.insert(at: 1)
    var fourth = SequenceAuthor(4)
    for made in [list, far] { try fourth.receive(made) }
    let beforeFar = try fourth.insert(at: 1)
    for order in Permutations.all(of: [far, near, beforeNear, beforeFar]) {
      var reader = SequenceAuthor(99)
      try reader.receive(list)
      for insertion in order { try reader.receive(insertion) }
      #expect(reader.order == reader.tree.order())
      #expect(reader.order == [list.id, beforeFar.id, far.id, beforeNear.id, near.id])
    }
  }
}

/// The same with whole messages, as users see it.
struct NonInterleavingQueueTests {
  @Test func batchesAndTextsOfTwoDevicesStayWhole() throws {
    var founder = TestDevice(50)
    try founder.perform(.send("a()b", as: 1, in: "s"))
    try founder.perform(.send("last", as: 2, in: "s"))
    var devices = [TestDevice(60), TestDevice(10)]
    for index in devices.indices {
      let name = ["x", "y"][index]
      try devices[index].merge(founder.made)
      for number in 0..<3 {
        let id = UInt64(10 * (index + 1) + number)
        try devices[index].perform(.send("\(name)\(number)", as: id, in: "s"))
        try devices[index].perform(.move([.numbered(id)], to: .after(.numbered(1))))
        // Typed backwards: each message goes before the last one.
        try devices[index].perform(
          .insertText(.numbered(1), at: 2, text: "\(name)\(number)"))
      }
    }
    var reader = founder
    for device in devices.reversed() { try reader.merge(device.made) }
    let numbers = reader.workspace.numbers("s")
    #expect(
      numbers == [1, 22, 21, 20, 12, 11, 10, 2] || numbers == [1, 12, 11, 10, 22, 21, 20, 2])
    let text = reader.workspace.contents("s").first
    #expect(text == "a(y2y1y0x2x1x0)b" || text == "a(x2x1x0y2y1y0)b")
  }
}
