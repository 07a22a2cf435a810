/// What one change of a text says, by one author: an insertion or a deletion of scalars.
package enum TextOperation: Hashable, Sendable {
  /// Scalar *k* has id + *k*; nil origins are the start and the end.
  case insert(id: OperationID, left: OperationID?, right: OperationID?, text: String)
  /// Unit *k* deletes `first` + *k*, or backwards `first` + `count` − 1 − *k*.
  case delete(id: OperationID, first: OperationID, count: Int, backwards: Bool)

  /// The id of the first unit.
  package var id: OperationID {
    switch self {
    case .insert(let id, _, _, _), .delete(let id, _, _, _): id
    }
  }
}

/// One author's copy of a text: edits by offset become operations with ids, which are logged in
/// runs; operations of others are merged and logged too.
package struct TextReplica: Sendable {
  /// Whose edits these are.
  package let replica: ReplicaID
  /// The text.
  package private(set) var content = TextContent()
  private var rows = TextRows()
  /// The last sequence number known of each other author, in the order they came.
  private var others: [(replica: ReplicaID, seq: UInt32)] = []
  private var nextSeq: UInt32
  private let firstSeq: UInt32

  /// An empty text.
  ///
  /// - Parameter firstSeq: the sequence number of the first operation made here, at least 1.
  package init(replica: ReplicaID, firstSeq: UInt32 = 1) {
    self.replica = replica
    self.firstSeq = max(1, firstSeq)
    nextSeq = self.firstSeq
  }

  /// What is known of each replica.
  package var vector: VersionVector {
    var vector = VersionVector()
    for other in others { vector[other.replica] = other.seq }
    if nextSeq > firstSeq { vector[replica] = nextSeq - 1 }
    return vector
  }

  /// The last sequence number known of a replica, 0 where there is none; as in `vector`, which takes
  /// memory of its own.
  package func lastKnown(of replica: ReplicaID) -> UInt32 {
    guard replica == self.replica else { return others.last { $0.replica == replica }?.seq ?? 0 }
    return nextSeq > firstSeq ? nextSeq - 1 : 0
  }

  /// All operations known here, in the order they were applied, joined into runs.
  package var log: TextLog { TextLog(rows: rows, content: content) }

  /// The bytes held, in use or not.
  package var bytesHeld: Int { content.bytesHeld + rows.bytesHeld }
}

// MARK: Edits

extension TextReplica {
  /// Inserts text at an offset.
  ///
  /// - Parameter offset: in Unicode scalars, from 0 to the length.
  /// - Throws: `SequenceFault`; nothing changes then.
  /// - Complexity: O(log runs + scalars), and O(scalars) where the last insertion goes on.
  package mutating func insert(_ text: String, at offset: Int) throws(SequenceFault) {
    guard !text.isEmpty else {
      guard offset >= 0, offset <= content.sequence.visibleCount else { throw .indexOutOfRange }
      return
    }
    let id = OperationID(replica: replica, seq: nextSeq)
    let made = try content.insert(text, at: offset, id: id)
    let count = UInt32(truncatingIfNeeded: content.scalarCount) - made.unit
    rows.noteInsertion(id, unit: made.unit, count: count, left: made.left, right: made.right)
    nextSeq += count
  }

  /// Deletes text.
  ///
  /// - Parameter range: in Unicode scalars, within the text.
  /// - Throws: `SequenceFault.indexOutOfRange`; nothing changes then.
  /// - Complexity: O(log runs) for each run that is touched.
  package mutating func delete(_ range: Range<Int>) throws(SequenceFault) {
    guard range.lowerBound >= 0, range.upperBound <= content.sequence.visibleCount,
      range.count <= Int(UInt32.max - nextSeq)
    else { throw .indexOutOfRange }
    var rest = range.count
    while rest > 0 {
      let hidden = try content.delete(from: range.lowerBound, atMost: rest)
      rows.noteDeletion(
        OperationID(replica: replica, seq: nextSeq), unit: hidden.lowerBound,
        target: content.sequence.id(ofContent: hidden.lowerBound), count: hidden.count,
        backwards: false)
      nextSeq += UInt32(hidden.count)
      rest -= hidden.count
    }
  }
}

// MARK: Merging

extension TextReplica {
  /// Takes an operation made elsewhere, after all that it names.
  ///
  /// - Throws: `SequenceFault`; nothing changes then. An operation that is known already, or comes
  ///   before an earlier one of its author, is invalid.
  package mutating func merge(_ operation: TextOperation) throws(SequenceFault) {
    switch operation {
    case .insert(let id, let left, let right, let text):
      try checkNext(id)
      note(id, try content.insert(id: id, text: text, left: left, right: right))
    case .delete(let id, let first, let count, let backwards):
      try mergeDeletion(id: id, first: first, count: count, backwards: backwards)
    }
  }

  /// The same for an insertion whose text is UTF-8 that was checked to be valid.
  package mutating func mergeInsertion(
    id: OperationID, left: OperationID?, right: OperationID?, utf8: Span<UInt8>
  ) throws(SequenceFault) {
    try checkNext(id)
    note(id, try content.insert(id: id, utf8: utf8, left: left, right: right))
  }

  /// The same for a deletion.
  package mutating func mergeDeletion(
    id: OperationID, first: OperationID, count: Int, backwards: Bool
  ) throws(SequenceFault) {
    try checkNext(id)
    guard count >= 1, let last = id.advanced(by: count - 1) else { throw .invalidRun(id) }
    let unit = try content.delete(first: first, count: count)
    rows.noteDeletion(
      id, unit: unit ?? 0, target: first, count: count, backwards: backwards)
    note(last)
  }

  private func checkNext(_ id: OperationID) throws(SequenceFault) {
    let known =
      id.replica == replica
      ? nextSeq - 1 : others.last { $0.replica == id.replica }?.seq ?? 0
    guard id.seq > known else { throw .invalidRun(id) }
  }

  private mutating func note(_ id: OperationID, _ made: TextContent.Insertion) {
    let made = made.numbers
    let count = UInt32(truncatingIfNeeded: content.scalarCount) - made.unit
    rows.noteInsertion(id, unit: made.unit, count: count, left: made.left, right: made.right)
    note(OperationID(replica: id.replica, seq: id.seq &+ (count - 1)))
  }

  private mutating func note(_ last: OperationID) {
    if last.replica == replica {
      nextSeq = last.seq &+ 1
    } else if let index = others.lastIndex(where: { $0.replica == last.replica }) {
      others[index].seq = last.seq
    } else {
      others.append((last.replica, last.seq))
    }
  }
}
