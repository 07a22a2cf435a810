/// The log of a text in runs of four numbers each. Units are named by their numbers.
struct TextRows: Sendable {
  private struct Row {
    /// An insertion: its first unit. A deletion: the first deleted unit, by id.
    var unit: UInt32
    /// How many units; the top bit is set in a deletion.
    var count: UInt32
    /// An insertion: the left origin. A deletion: its first sequence number.
    var left: UInt32
    /// An insertion: the right origin. A deletion: twice the index of its replica, plus 1 where it
    /// goes backwards.
    var right: UInt32
  }

  private static let deletion: UInt32 = 1 << 31

  private var rows: [Row] = []
  private var replicas: [ReplicaID] = []
  /// The id that would continue the last row, if it is an insertion; 0 else.
  private var nextReplica = ReplicaID(rawValue: 0)
  private var nextSeq: UInt32 = 0
  /// The id of the last row's first deleted unit, if it is a deletion.
  private var lastTarget: OperationID?

  var count: Int { rows.count }

  var bytesHeld: Int { rows.capacity * MemoryLayout<Row>.stride }

  /// Notes an insertion; origins are numbers, `SequenceCore.none` for the start and the end.
  @inline(__always)
  mutating func noteInsertion(
    _ id: OperationID, unit: UInt32, count: UInt32, left: UInt32, right: UInt32
  ) {
    if id.seq == nextSeq, id.replica == nextReplica, left == unit &- 1, let last = rows.last,
      last.unit + last.count == unit, last.right == right
    {
      rows[rows.count - 1].count += count
    } else {
      rows.append(Row(unit: unit, count: count, left: left, right: right))
      nextReplica = id.replica
      lastTarget = nil
    }
    nextSeq = id.seq &+ count
  }

  /// - Parameters:
  ///   - target: the id of the first deleted unit, whose number is `unit`.
  mutating func noteDeletion(
    _ id: OperationID, unit: Int, target: OperationID, count: Int, backwards: Bool
  ) {
    let units = UInt32(truncatingIfNeeded: count)
    let author = UInt32(truncatingIfNeeded: index(of: id.replica) << 1)
    nextSeq = 0
    if let lastTarget, let last = rows.last, last.right & ~1 == author {
      let lastCount = last.count & ~TextRows.deletion
      let wasForward = last.right & 1 == 0
      let goesOn = last.left + lastCount == id.seq
      if goesOn, wasForward, !backwards || units == 1,
        target == lastTarget.advanced(by: Int(lastCount))
      {
        rows[rows.count - 1].count += units
        return
      }
      if goesOn, !wasForward || lastCount == 1, backwards || units == 1,
        target.advanced(by: count) == lastTarget
      {
        rows[rows.count - 1].unit = UInt32(truncatingIfNeeded: unit)
        rows[rows.count - 1].count += units
        rows[rows.count - 1].right = author | 1
        self.lastTarget = target
        return
      }
    }
    lastTarget = target
    rows.append(
      Row(
        unit: UInt32(truncatingIfNeeded: unit), count: units | TextRows.deletion, left: id.seq,
        right: author | (backwards && units > 1 ? 1 : 0)))
  }

  private mutating func index(of replica: ReplicaID) -> Int {
    if let known = replicas.lastIndex(of: replica) { return known }
    replicas.append(replica)
    return replicas.count - 1
  }

  /// What a row says.
  func entry(_ index: Int, in sequence: RunSequence) -> TextLog.Entry {
    let row = rows[index]
    let first = sequence.id(ofContent: Int(row.unit))
    if row.count & TextRows.deletion != 0 {
      return .deletion(
        id: OperationID(replica: replicas[Int(row.right >> 1)], seq: row.left), first: first,
        count: Int(row.count & ~TextRows.deletion), backwards: row.right & 1 != 0)
    }
    let units = Int(row.unit)..<Int(row.unit) + Int(row.count)
    let left = row.left == SequenceCore.none ? nil : sequence.id(ofContent: Int(row.left))
    let right = row.right == SequenceCore.none ? nil : sequence.id(ofContent: Int(row.right))
    return .insertion(id: first, left: left, right: right, scalars: units)
  }
}

/// The operations of a text in the order they were applied, joined into runs.
package struct TextLog: RandomAccessCollection, Sendable {
  /// One run; an insertion's text is named by the numbers of its scalars.
  package enum Entry: Hashable, Sendable {
    case insertion(id: OperationID, left: OperationID?, right: OperationID?, scalars: Range<Int>)
    case deletion(id: OperationID, first: OperationID, count: Int, backwards: Bool)
  }

  let rows: TextRows
  let content: TextContent

  package var startIndex: Int { 0 }
  package var endIndex: Int { rows.count }

  /// A run without its text.
  ///
  /// - Precondition: the index is within the log.
  package func entry(at index: Int) -> Entry {
    rows.entry(index, in: content.sequence)
  }

  /// The text of an insertion's scalars, as UTF-8.
  package func utf8(of scalars: Range<Int>) -> ArraySlice<UInt8> {
    content.utf8(of: scalars)
  }

  package subscript(index: Int) -> TextOperation {
    switch entry(at: index) {
    case .insertion(let id, let left, let right, let scalars):
      .insert(
        id: id, left: left, right: right, text: String(decoding: utf8(of: scalars), as: UTF8.self))
    case .deletion(let id, let first, let count, let backwards):
      .delete(id: id, first: first, count: count, backwards: backwards)
    }
  }
}
