import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Every pair of concurrent actions, in every order of delivery, and a sample of meetings with
/// three authors and four actions. With `COSPOOL_EXHAUSTIVE=1` in a release build: every three
/// actions, and every four of the common ones.
struct PairMatrixTests {
  /// Ids that break ties in both directions, between the authors and with the founder.
  private static let replicas: [[UInt64]] = [[60, 61, 62], [62, 3, 61]]

  @Test(arguments: PairMatrix.actions.map(\.name))
  func everyPairGivesOneResultInEveryOrder(first: String) throws {
    for pair in PairMatrix.pairs where pair.first.name == first {
      // Each pair is tested in both directions; all relations of ids would take long.
      let isTurned = pair.first.name > pair.second.name
      let relations = PairMatrixTests.replicas
      for replicas in TestEffort.isExhaustive ? relations : [relations[isTurned ? 1 : 0]] {
        var meeting = try Meeting(
          replicas: replicas, authors: [[pair.first.commands], [pair.second.commands]])
        let workspace = try meeting.verify(name: pair.name)
        for fact in pair.facts {
          let difference = fact.difference(in: workspace)
          #expect(difference == nil, "\(pair.name), replicas \(replicas)")
        }
      }
    }
  }

  /// A row of the contract that no pair reaches would stay unchecked.
  @Test func factsAreAboutActionsThereAre() {
    let pairs = PairMatrix.pairs
    #expect(Set(PairMatrix.actions.map(\.name)).count == PairMatrix.actions.count)
    #expect(pairs.filter { !$0.facts.isEmpty }.count >= 60)
  }

  @Test(arguments: TestSeeds.list(standard: 12, from: 4_000))
  func fourActionsOfThreeAuthorsGiveOneResult(seed: UInt64) throws {
    guard !TestEffort.isExhaustive else { return }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5 {
      let chosen = (0..<4).map { _ in generator.below(PairMatrix.actions.count) }
      try verifyFour(chosen, twice: generator.below(3), seed: seed)
    }
  }

  /// The most common actions; the others are tested in pairs and threes.
  private static let commonActions = [
    "insert at start", "insert in the middle", "insert at end", "add with the same key",
    "move by one", "move the target", "set urgent", "remove", "restore", "clear",
    "insert text at the start", "insert text at the end", "delete text at the start",
    "delete text at the end",
  ]

  /// Every four common actions. Each author in turn does two of them, in both orders, under both
  /// relations of ids to clocks.
  @Test(arguments: [1, 0], 0..<3)
  func everyFourCommonActionsGiveOneResult(relation: Int, twice: Int) throws {
    guard TestEffort.isExhaustive else { return }
    let common = PairMatrixTests.commonActions.compactMap { name in
      PairMatrix.actions.firstIndex { $0.name == name }
    }
    try #require(common.count == PairMatrixTests.commonActions.count)
    var (meetings, orders) = (0, 0)
    let replicas = PairMatrixTests.replicas[relation]
    for tuple in PairMatrixTests.tuples(of: common, length: 4) {
      orders += try verifyFour(tuple, twice: twice, seed: 0, replicas: replicas)
      meetings += 1
    }
    print("\(replicas), \(twice) does two: \(meetings) meetings, \(orders) orders of delivery")
  }

  /// Every three actions at the same time, each by an author of its own.
  @Test func everyThreeActionsGiveOneResult() throws {
    guard TestEffort.isExhaustive else { return }
    var (meetings, orders) = (0, 0)
    for tuple in PairMatrixTests.tuples(of: Array(PairMatrix.actions.indices), length: 3) {
      let actions = tuple.map { PairMatrix.actions[$0] }
      var meeting = try Meeting(
        replicas: PairMatrixTests.replicas[0], authors: actions.map { [$0.commands] })
      _ = try meeting.verify(name: actions.map(\.name).joined(separator: " ∥ "))
      orders += meeting.orderCount
      meetings += 1
    }
    print("\(meetings) meetings of three, \(orders) orders of delivery")
  }

  private static func tuples(of values: [Int], length: Int) -> [[Int]] {
    guard length > 0 else { return [[]] }
    return tuples(of: values, length: length - 1).flatMap { start in values.map { start + [$0] } }
  }

  /// Four actions: one author does two of them, the others do one each.
  ///
  /// - Returns: the number of orders in which they were delivered.
  @discardableResult
  private func verifyFour(
    _ chosen: [Int], twice: Int, seed: UInt64, replicas: [UInt64] = replicas[0]
  ) throws -> Int {
    let actions = chosen.map { PairMatrix.actions[$0] }
    var authors: [[Meeting.Action]] = []
    var next = 0
    for author in 0..<3 {
      let count = author == twice ? 2 : 1
      authors.append(actions[next..<next + count].map(\.commands))
      next += count
    }
    let name = actions.map(\.name).joined(separator: " ∥ ")
    var meeting = try Meeting(replicas: replicas, authors: authors)
    _ = try meeting.verify(name: "\(name), \(twice) twice, seed \(seed)")
    return meeting.orderCount
  }
}

/// Authors that act without knowing of each other, and readers that get their operations in every
/// order.
private struct Meeting {
  typealias Action = @Sendable (Workspace, PairMatrix.Author) -> [Command]

  /// The maximum number of delivery orders of a meeting; all are used if there are fewer.
  private static let ordersMax = 24

  private static let base: TestDevice = {
    var founder = TestDevice(50)
    do {
      for command in PairMatrix.setup { try founder.perform(command) }
    } catch {
      preconditionFailure("the matrix's setup is refused: \(error)")
    }
    return founder
  }()

  private var known: [Operation] = Meeting.base.made
  private var concurrent: [[Operation]] = []
  /// The same operations, by author and action.
  private var actionsMade: [[[Operation]]] = []
  private var devices: [TestDevice] = []
  private let reader: Workspace
  /// The number of orders in which `verify` delivered the operations.
  private(set) var orderCount = 0

  init(replicas: [UInt64], authors: [[Action]]) throws {
    for (index, actions) in authors.enumerated() {
      var device = TestDevice(
        replicas[index], now: TestDevice.startOfTime + 60_000 * Int64(index + 1))
      let announced = device.made.count
      var parts: [[Operation]] = []
      known += device.made
      try device.merge(Meeting.base.made)
      for action in actions {
        let before = device.made.count
        for command in action(device.workspace, PairMatrix.Author(number: index)) {
          // Refused if the author's own earlier action removed what this one needs.
          _ = try? device.perform(command)
        }
        parts.append(Array(device.made.dropFirst(before)))
      }
      actionsMade.append(parts)
      concurrent.append(Array(device.made.dropFirst(announced)))
      devices.append(device)
    }
    var reader = Workspace()
    _ = try reader.merge(known)
    self.reader = reader
  }

  mutating func verify(name: String) throws -> Workspace {
    var expected = reader
    for operations in concurrent { _ = try expected.merge(operations) }
    let all = known + concurrent.flatMap { $0 }
    let oracle = SlowWorkspace(all).state()
    let details = oracle.differences(from: expected) + oracle.imageDifferences(from: expected)
    #expect(details == [], "\(name)")
    try expected.checkInvariants()
    let image = expected.image()
    let joined = try devices.reduce(WorkspaceImage()) { state, device in
      try state.joined(with: device.workspace.image())
    }
    #expect(joined.isExactlyEqual(to: image), "\(name): the joined states of all are another")
    let orders = orders()
    orderCount = orders.count
    for order in orders {
      var third = reader
      for operation in order { _ = try third.merge([operation]) }
      let isSame = third.image().isExactlyEqual(to: image)
      #expect(isSame, "\(name): another result in the order \(order.map(\.id))")
      #expect(third.pendingOperations.isEmpty, "\(name)")
    }
    for var device in devices {
      try device.merge(all)
      #expect(device.workspace.image().isExactlyEqual(to: image), "\(name): an author's own")
    }
    return expected
  }

  /// All orders that keep each author's own order; with up to four operations, all other orders,
  /// too. Beyond the limit: all such orders of whole actions, and samples.
  private func orders() -> [[Operation]] {
    let operations = concurrent.flatMap { $0 }
    if operations.count <= 4 { return Permutations.all(of: operations) }
    var generator = SeededGenerator(seed: UInt64(operations.count))
    let shuffled = (0..<6).map { _ in operations.shuffled(using: &generator) }
    if Permutations.interleavingCount(of: concurrent.map(\.count), limit: Meeting.ordersMax) != nil
    {
      return Permutations.interleavings(of: concurrent) + shuffled
    }
    let whole = Permutations.interleavings(of: actionsMade).map { $0.flatMap { $0 } }
    let samples = (whole.count..<max(whole.count, Meeting.ordersMax)).map { _ in
      interleaving(&generator)
    }
    return whole + samples + shuffled
  }

  private func interleaving(_ generator: inout SeededGenerator) -> [Operation] {
    var rest = concurrent.map { $0[...] }
    var order: [Operation] = []
    while let author = rest.indices.filter({ !rest[$0].isEmpty }).randomElement(using: &generator) {
      order.append(rest[author].removeFirst())
    }
    return order
  }
}
