import QueueModel
import SequenceCRDT

/// Types a concurrent trace into a message with a device for each author, to get the operations of
/// its edits.
struct ConcurrentAuthors {
  private struct Author {
    var device: BenchDevice
    /// The transactions that the text contains.
    var known: Set<Int> = []
  }

  /// The operations of each transaction; those of the message's send come first.
  private(set) var operations: [[Operation]] = []
  private var authors: [Author]
  private let trace: ConcurrentTrace

  /// - Throws: the errors of the engine, and `BenchFailure` if the authors' text differs.
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

  /// The parents and everything before them, without those in `known`, ascending.
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
