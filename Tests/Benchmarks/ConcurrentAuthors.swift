import QueueModel
import SequenceCRDT

/// Types a concurrent trace into a message with a device for each author, to get at the operations
/// that its edits are.
struct ConcurrentAuthors {
  private struct Author {
    var device: BenchDevice
    /// The transactions that are in the text.
    var known: Set<Int> = []
  }

  /// The operations of each transaction; what the message was sent with comes first.
  private(set) var operations: [[Operation]] = []
  private var authors: [Author]
  private let trace: ConcurrentTrace

  /// - Throws: what the engine throws, and `BenchFailure` where the authors' text is another one.
  init(_ trace: ConcurrentTrace) throws {
    self.trace = trace
    var sender = BenchDevice(replica: 1)
    try sender.perform(TypedMessage.send())
    authors = (0..<trace.agentCount).map {
      Author(device: BenchDevice(replica: UInt64($0) + 2, pauseMilliseconds: 100))
    }
    for index in authors.indices { try authors[index].device.merge(sender.log) }
    for index in trace.transactions.indices { try perform(index) }
    operations.insert(sender.log, at: 0)
  }

  private mutating func perform(_ index: Int) throws {
    let transaction = trace.transactions[index]
    let agent = transaction.agent
    for earlier in ancestors(of: transaction.parents, beyond: authors[agent].known) {
      try authors[agent].device.merge(operations[earlier])
      authors[agent].known.insert(earlier)
    }
    operations.append(
      try transaction.patches.flatMap { try authors[agent].device.type($0) })
    authors[agent].known.insert(index)
  }

  /// The parents and everything before them that is not among `known`, ascending.
  private func ancestors(of parents: [Int], beyond known: Set<Int>) -> [Int] {
    var found: Set<Int> = []
    var rest = parents
    while let next = rest.popLast() {
      guard !known.contains(next), found.insert(next).inserted else { continue }
      rest += trace.transactions[next].parents
    }
    return found.sorted()
  }
}
