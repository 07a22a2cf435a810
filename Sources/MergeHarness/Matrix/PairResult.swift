import QueueModel
import QueueOracle
import SequenceCRDT

/// Two actions at the same time, delivered to a third device in every order.
struct PairResult: Sendable {
  /// The number of orders to try if a pair has more.
  static let ordersMax = 120
  /// The authors' replica ids, whose order breaks ties: both above the founder's, and on either
  /// side of it.
  static let replicaChoices: [[UInt64]] = [[60, 61], [61, 60], [3, 61], [62, 3]]
  private static let founder: UInt64 = 50
  /// 2026-01-01T00:00:00Z.
  private static let startOfTime: Int64 = 1_767_225_600_000

  var first: String
  var second: String
  var orders = 0
  var facts = 0
  /// The faults; empty if all orders agree with the oracle and the contract.
  var faults: [String] = []

  init(_ pair: PairMatrix.Pair) {
    first = pair.first.name
    second = pair.second.name
    for replicas in Self.replicaChoices {
      do {
        try meet(pair, replicas)
      } catch {
        faults.append("replicas \(replicas): \(error)")
      }
    }
  }

  /// A device without any input and output.
  private struct Author {
    var workspace = Workspace()
    let replica: ReplicaID
    var now: Int64
    private(set) var made: [Operation]
    private var clock = HybridClock()

    init(_ replica: UInt64, now: Int64) {
      self.replica = ReplicaID(rawValue: replica)
      self.now = now
      made = workspace.announce(
        device: DeviceID(high: 0xD, low: replica), name: "device \(replica)",
        replica: self.replica)
    }

    mutating func perform(_ command: Command) throws(QueueError) {
      now += 1
      clock.observe(workspace.latestStamp)
      var next = clock
      let context = CommandContext(
        replica: replica, stamp: next.tick(milliseconds: now), time: now, queueSizeMax: 50)
      made += try workspace.perform(command, in: context).operations
      clock = next
    }
  }

  private mutating func meet(_ pair: PairMatrix.Pair, _ replicas: [UInt64]) throws {
    var founder = Author(Self.founder, now: Self.startOfTime)
    for command in PairMatrix.setup { try founder.perform(command) }
    var known = founder.made
    var concurrent: [[Operation]] = []
    for (number, action) in [pair.first, pair.second].enumerated() {
      var author = Author(
        replicas[number], now: Self.startOfTime + 60_000 * Int64(number + 1))
      known += author.made
      let announced = author.made.count
      _ = try author.workspace.merge(founder.made)
      for command in action.commands(author.workspace, PairMatrix.Author(number: number)) {
        // The author's own earlier command may have removed what this one works on.
        do { try author.perform(command) } catch { continue }
      }
      concurrent.append(Array(author.made.dropFirst(announced)))
    }
    var reader = Workspace()
    _ = try reader.merge(known)
    try compare(pair, reader, known, concurrent.flatMap { $0 }, replicas)
  }

  private mutating func compare(
    _ pair: PairMatrix.Pair, _ reader: Workspace, _ known: [Operation],
    _ concurrent: [Operation], _ replicas: [UInt64]
  ) throws {
    var expected = reader
    _ = try expected.merge(concurrent)
    try expected.checkInvariants()
    let oracle = SlowWorkspace(known + concurrent).state()
    faults += (oracle.differences(from: expected) + oracle.imageDifferences(from: expected))
      .map { "replicas \(replicas), oracle: \($0)" }
    let image = expected.image()
    for order in DeliveryOrders(concurrent, max: Self.ordersMax) {
      orders += 1
      var third = reader
      for operation in order { _ = try third.merge([operation]) }
      if !third.image().isExactlyEqual(to: image) || !third.pendingOperations.isEmpty {
        faults.append("replicas \(replicas), order \(order.map(\.id)): another result")
      }
    }
    for fact in pair.facts {
      facts += 1
      if let difference = fact.difference(in: expected) {
        faults.append("replicas \(replicas), contract: \(difference)")
      }
    }
  }
}

/// Orders in which operations may arrive: all of them, or a number of evenly spread ones.
///
/// Order number n follows from n's digits in the factorial number system (Lehmer code).
struct DeliveryOrders: Sequence {
  private let operations: [Operation]
  private let numbers: [Int]

  init(_ operations: [Operation], max: Int) {
    self.operations = operations
    var count = 1
    for factor in 1...Swift.max(operations.count, 1) {
      let (product, overflow) = count.multipliedReportingOverflow(by: factor)
      // If there are more orders than fit in a number, those that fit are spread over their range.
      if overflow { break }
      count = product
    }
    let taken = Swift.min(count, max)
    let stride = Swift.max(1, count / taken)
    numbers = (0..<taken).map { $0 * stride + (taken < count ? $0 % stride : 0) }
  }

  func makeIterator() -> AnyIterator<[Operation]> {
    var index = 0
    return AnyIterator {
      guard index < numbers.count else { return nil }
      defer { index += 1 }
      return order(numbers[index])
    }
  }

  private func order(_ number: Int) -> [Operation] {
    var rest = operations
    var digits = number
    var order: [Operation] = []
    order.reserveCapacity(rest.count)
    for base in stride(from: operations.count, to: 0, by: -1) {
      order.append(rest.remove(at: digits % base))
      digits /= base
    }
    return order
  }
}
