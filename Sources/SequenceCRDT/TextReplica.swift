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
  /// What is known of each replica.
  package private(set) var vector = VersionVector()
  private var rows = TextRows()
  private var nextSeq: UInt32

  /// An empty text.
  ///
  /// - Parameter firstSeq: the sequence number of the first operation made here, at least 1.
  package init(replica: ReplicaID, firstSeq: UInt32 = 1) {
    self.replica = replica
    nextSeq = max(1, firstSeq)
  }

  /// All operations known here, in the order they were applied, joined into runs.
  package var log: TextLog { TextLog(rows: rows, content: content) }

  /// The bytes held, in use or not.
  package var bytesHeld: Int { content.bytesHeld + rows.bytesHeld }

  private mutating func advance(by count: Int) {
    nextSeq &+= UInt32(truncatingIfNeeded: count)
  }
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
    let before = content.sequence.unitCount
    let made = try content.insert(text, at: offset, id: id)
    let count = content.sequence.unitCount - before
    rows.noteInsertion(id, unit: made.first, count: count, left: made.left, right: made.right)
    advance(by: count)
    vector[replica] = nextSeq - 1
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
      advance(by: hidden.count)
      rest -= hidden.count
    }
    if !range.isEmpty { vector[replica] = nextSeq - 1 }
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
      let unit = content.sequence.unitCount
      try checkNext(id)
      try content.insert(id: id, text: text, left: left, right: right)
      try noteMergedInsertion(id, unit: unit, left: left, right: right)
    case .delete(let id, let first, let count, let backwards):
      try mergeDeletion(id: id, first: first, count: count, backwards: backwards)
    }
  }

  /// The same for an insertion whose text is UTF-8 that was checked to be valid.
  package mutating func mergeInsertion(
    id: OperationID, left: OperationID?, right: OperationID?, utf8: Span<UInt8>
  ) throws(SequenceFault) {
    let unit = content.sequence.unitCount
    try checkNext(id)
    try content.insert(id: id, utf8: utf8, left: left, right: right)
    try noteMergedInsertion(id, unit: unit, left: left, right: right)
  }

  /// The same for a deletion.
  package mutating func mergeDeletion(
    id: OperationID, first: OperationID, count: Int, backwards: Bool
  ) throws(SequenceFault) {
    try checkNext(id)
    guard count >= 1, let last = id.advanced(by: count - 1) else { throw .invalidRun(id) }
    try content.delete(first: first, count: count)
    rows.noteDeletion(
      id, unit: content.sequence.contentIndex(of: first) ?? 0, target: first, count: count,
      backwards: backwards)
    note(last)
  }

  private func checkNext(_ id: OperationID) throws(SequenceFault) {
    guard id.seq > vector[id.replica] else { throw .invalidRun(id) }
  }

  private mutating func noteMergedInsertion(
    _ id: OperationID, unit: Int, left: OperationID?, right: OperationID?
  ) throws(SequenceFault) {
    let count = content.sequence.unitCount - unit
    rows.noteInsertion(
      id, unit: unit, count: count, left: left.flatMap { content.sequence.contentIndex(of: $0) },
      right: right.flatMap { content.sequence.contentIndex(of: $0) })
    note(OperationID(replica: id.replica, seq: id.seq &+ UInt32(truncatingIfNeeded: count - 1)))
  }

  private mutating func note(_ last: OperationID) {
    vector[last.replica] = last.seq
    if last.replica == replica { nextSeq = max(nextSeq, last.seq &+ 1) }
  }
}
