import SequenceCRDT

/// Plays a concurrent trace with a replica for each author, to get at the operations that its
/// edits are.
enum ConcurrentAuthors {
  /// - Returns: the operations of all edits, in the order of the trace, which is a causal one.
  /// - Throws: `BenchFailure` where an author forgets what it knew, which one replica cannot.
  static func operations(of trace: ConcurrentTrace) throws -> [TextOperation] {
    var authors = (0..<trace.agentCount).map { Author(number: $0) }
    var made: [[TextOperation]] = []
    for (index, transaction) in trace.transactions.enumerated() {
      let known = ancestors(
        of: transaction.parents, in: trace, upTo: authors[transaction.agent].known)
      try authors[transaction.agent].learn(
        known.filter { trace.transactions[$0].agent != transaction.agent }, from: made)
      made.append(try authors[transaction.agent].perform(transaction.patches))
      authors[transaction.agent].known.insert(index)
    }
    return made.flatMap { $0 }
  }

  /// The parents and everything before them that is not among `known`, ascending.
  private static func ancestors(
    of parents: [Int], in trace: ConcurrentTrace, upTo known: Set<Int>
  ) -> [Int] {
    var found: Set<Int> = []
    var rest = parents
    while let next = rest.popLast() {
      guard !known.contains(next), found.insert(next).inserted else { continue }
      rest += trace.transactions[next].parents
    }
    return found.sorted()
  }

  private struct Author {
    var text: TextReplica
    /// The transactions that are in the text.
    var known: Set<Int> = []

    init(number: Int) {
      text = TextReplica(replica: ReplicaID(rawValue: UInt64(number) + 1))
    }

    mutating func learn(_ transactions: [Int], from made: [[TextOperation]]) throws {
      for transaction in transactions {
        for operation in made[transaction] { try text.merge(operation) }
        known.insert(transaction)
      }
    }

    /// The edits as operations: what the log got longer by.
    mutating func perform(_ patches: [Patch]) throws -> [TextOperation] {
      var operations: [TextOperation] = []
      for patch in patches {
        if patch.deleted > 0 {
          operations += try logged {
            try $0.delete(patch.position..<patch.position + patch.deleted)
          }
        }
        if !patch.inserted.isEmpty {
          operations += try logged { try $0.insert(patch.inserted, at: patch.position) }
        }
      }
      return operations
    }

    private mutating func logged(
      _ edit: (inout TextReplica) throws -> Void
    ) throws -> [TextOperation] {
      let before = text.log
      let lastLength = before.last?.length ?? 0
      let count = before.count
      try edit(&text)
      let after = text.log
      var operations: [TextOperation] = []
      if count > 0, after[count - 1].length > lastLength {
        operations.append(try after[count - 1].droppingFirst(lastLength))
      }
      return operations + after[count...]
    }
  }
}

extension TextOperation {
  /// How many units it has.
  fileprivate var length: Int {
    switch self {
    case .insert(_, _, _, let text): text.unicodeScalars.count
    case .delete(_, _, let count, _): count
    }
  }

  /// What is left without its first units.
  ///
  /// - Precondition: it has more units than that.
  fileprivate func droppingFirst(_ dropped: Int) throws -> TextOperation {
    switch self {
    case .insert(let id, _, let right, let text):
      return .insert(
        id: try id.moved(by: dropped), left: try id.moved(by: dropped - 1), right: right,
        text: String(String.UnicodeScalarView(text.unicodeScalars.dropFirst(dropped))))
    case .delete(let id, let first, let count, let backwards):
      return .delete(
        id: try id.moved(by: dropped), first: backwards ? first : try first.moved(by: dropped),
        count: count - dropped, backwards: backwards && count - dropped > 1)
    }
  }
}

extension OperationID {
  fileprivate func moved(by distance: Int) throws -> OperationID {
    guard let moved = advanced(by: distance) else {
      throw BenchFailure("the trace has more operations than a replica may make")
    }
    return moved
  }
}
