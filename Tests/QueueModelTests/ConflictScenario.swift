import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Several devices start from one state and act without knowing of each other. Then a reader
/// receives their operations, in every order.
struct ConflictScenario {
  /// The actions of one device, offline; later authors have later clocks.
  typealias Action = (inout TestDevice) throws -> Void

  private static let ordersMax = 252

  /// The state that all devices know before they act.
  private var base: [Operation]
  /// The operations of each author, in order.
  private var concurrent: [[Operation]]
  private var authors: [TestDevice]

  /// Sets up a base state and lets each author act on it.
  ///
  /// - Parameter replicas: the authors' replica ids, whose order breaks ties.
  init(replicas: [UInt64], setup: Action, authors actions: [Action]) throws {
    var founder = TestDevice(50)
    try setup(&founder)
    base = founder.made
    concurrent = []
    authors = []
    for (index, action) in actions.enumerated() {
      var author = TestDevice(
        replicas[index], now: TestDevice.startOfTime + 60_000 * Int64(index + 1))
      let announcement = author.made
      base += announcement
      try author.merge(founder.made)
      try action(&author)
      concurrent.append(Array(author.made.dropFirst(announcement.count)))
      authors.append(author)
    }
  }

  /// Runs the scenario with every relation of the replica ids and checks every result.
  static func verify(
    setup: Action, authors actions: [Action],
    result check: (inout TestDevice) throws -> Void
  ) throws {
    // Ids above the founder's in both orders, and on both sides of it.
    let choices: [[UInt64]] = [[60, 61, 62, 63], [63, 62, 61, 60], [3, 70, 2, 71]]
    for replicas in choices {
      let scenario = try ConflictScenario(
        replicas: replicas, setup: setup, authors: actions)
      try scenario.verifyAllOrders(check)
    }
  }

  private func verifyAllOrders(_ check: (inout TestDevice) throws -> Void) throws {
    let all = base + concurrent.flatMap { $0 }
    var expected = TestDevice(99)
    try expected.merge(all)
    let reader = expected.made
    let oracle = SlowWorkspace(all + reader).state()
    #expect(oracle.differences(from: expected.workspace) == [])
    let image = expected.workspace.image()
    let joined = try authors.reduce(TestDevice(99).workspace.image()) { state, author in
      try state.joined(with: author.workspace.image())
    }
    #expect(joined.isExactlyEqual(to: image), "the joined states of all are another")
    for var author in authors {
      try author.merge(all + reader)
      #expect(author.workspace.image().isExactlyEqual(to: image))
      #expect(oracle.differences(from: author.workspace) == [])
    }
    for order in try causalOrders() + acausalOrders() {
      var third = Workspace()
      _ = try third.merge(reader + base)
      for operation in order { _ = try third.merge([operation]) }
      try expectSame(third, image, oracle, order)
    }
    for order in shuffles(of: all, count: 20) {
      var third = Workspace()
      for operation in order + reader { _ = try third.merge([operation]) }
      try expectSame(third, image, oracle, order)
    }
    try check(&expected)
  }

  private func expectSame(
    _ workspace: Workspace, _ image: WorkspaceImage, _ oracle: SlowState, _ order: [Operation]
  ) throws {
    let isSame = workspace.image().isExactlyEqual(to: image)
    #expect(isSame, "another result in the order \(order.map(\.id))")
    #expect(workspace.pendingOperations.isEmpty && workspace.missingRanges.isEmpty)
    #expect(oracle.differences(from: workspace) == [])
    try workspace.checkInvariants()
  }

  /// Orders that keep each author's own order: all of them, or a sample of the given size.
  private func causalOrders() throws -> [[Operation]] {
    let limit = ConflictScenario.ordersMax
    if Permutations.interleavingCount(of: concurrent.map(\.count), limit: limit) != nil {
      return Permutations.interleavings(of: concurrent)
    }
    var generator = TestSeeds.generator(standard: 7)
    return (0..<limit).map { _ in
      var rest = concurrent.map { $0[...] }
      var order: [Operation] = []
      while let author = rest.indices.filter({ !rest[$0].isEmpty }).randomElement(
        using: &generator)
      {
        order.append(rest[author].removeFirst())
      }
      return order
    }
  }

  /// Orders in which operations arrive before those they need.
  private func acausalOrders() -> [[Operation]] {
    let operations = concurrent.flatMap { $0 }
    if Permutations.count(operations.count, limit: 120) != nil {
      return Permutations.all(of: operations)
    }
    return shuffles(of: operations, count: 60)
  }

  private func shuffles(of operations: [Operation], count: Int) -> [[Operation]] {
    var generator = TestSeeds.generator(standard: 11)
    return (0..<count).map { _ in operations.shuffled(using: &generator) }
  }
}
