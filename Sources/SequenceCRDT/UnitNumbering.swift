/// The two names of a unit: its operation id, and its number in this copy of a sequence.
///
/// Units are numbered densely from 0 in the order of their arrival here (restored ones in the order
/// of the list), so origins and lookups are plain integers. Units with consecutive ids that arrived
/// together are one *span*. Each replica has a table of buckets over its ids, about one for two
/// spans. It keeps the search among spans short, however far apart the ids are.
///
/// Functions that read are inlined: the compiler would copy the whole record to the stack for each
/// call.
struct UnitNumbering: BitwiseCopyable {
  /// A stretch of consecutive numbers with consecutive ids.
  struct Span: BitwiseCopyable {
    var unit: UInt32
    var replica: UInt32
    var seq: UInt32
  }

  /// The spans of one replica, in the order of their ids.
  struct ReplicaSpans: BitwiseCopyable {
    var replica: UInt64
    var spans = Slab<IDSpan>()
    /// For each range of 2^shift ids, from the first id on: the last span that begins at or before
    /// the start of the range.
    var buckets = Slab<UInt32>()
    var shift: UInt32 = 6
  }

  struct IDSpan: BitwiseCopyable {
    var seq: UInt32
    var unit: UInt32
    var length: UInt32
  }

  /// A replica and its index, for lookup by number.
  private struct SortedReplica: BitwiseCopyable {
    var replica: UInt64
    var index: UInt32
  }

  private var replicas = Slab<ReplicaSpans>()
  /// Sorted by replica; empty while there are few.
  private var sortedReplicas = Slab<SortedReplica>()
  private var spans = Slab<Span>()
  /// For each 64 numbers: the span that holds the first of them.
  private var blocks = Slab<UInt32>()
  /// The number of units with a number.
  private(set) var count: UInt32 = 0
  /// The replica of the last span, and the sequence number that would continue it if the span has
  /// the replica's last ids; else 0.
  private var tailReplica: UInt64 = 0
  private var tailSeq: UInt32 = 0
  private var tailIndex: UInt32 = 0

  func clone() -> UnitNumbering {
    var copy = self
    copy.replicas = replicas.clone()
    copy.sortedReplicas = sortedReplicas.clone()
    for index in 0..<replicas.count {
      copy.replicas[index].spans = replicas[index].spans.clone()
      copy.replicas[index].buckets = replicas[index].buckets.clone()
    }
    copy.spans = spans.clone()
    copy.blocks = blocks.clone()
    return copy
  }

  mutating func free() {
    for index in 0..<replicas.count {
      replicas[index].spans.free()
      replicas[index].buckets.free()
    }
    replicas.free()
    sortedReplicas.free()
    spans.free()
    blocks.free()
  }

  /// The index of a replica, or `SequenceCore.none`. Few replicas write in one sequence, and the
  /// latest write the most.
  @inline(__always)
  func index(of replica: ReplicaID) -> UInt32 {
    guard replicas.count <= UnitNumbering.scannedMax else { return sortedIndex(of: replica) }
    var index = replicas.count
    while index > 0 {
      index -= 1
      if replicas[index].replica == replica.rawValue { return index }
    }
    return SequenceCore.none
  }

  /// The number of replicas that are searched one by one.
  private static let scannedMax: UInt32 = 16

  private func sortedIndex(of replica: ReplicaID) -> UInt32 {
    let place = sortedPlace(of: replica.rawValue)
    guard place < sortedReplicas.count, sortedReplicas[place].replica == replica.rawValue else {
      return SequenceCore.none
    }
    return sortedReplicas[place].index
  }

  /// The first place whose replica is not below this one.
  private func sortedPlace(of replica: UInt64) -> UInt32 {
    (0..<sortedReplicas.count).partitioningIndex { sortedReplicas[$0].replica >= replica }
  }

  private mutating func addReplica(_ replica: ReplicaID) {
    replicas.append(ReplicaSpans(replica: replica.rawValue))
    guard replicas.count > UnitNumbering.scannedMax else { return }
    // The first time adds all of them, later calls add the new one.
    for index in sortedReplicas.count..<replicas.count {
      let added = SortedReplica(replica: replicas[index].replica, index: index)
      let place = sortedPlace(of: added.replica)
      sortedReplicas.append(added)
      sortedReplicas.move(place..<sortedReplicas.count - 1, to: place + 1)
      sortedReplicas[place] = added
    }
  }
}

// MARK: From id to number

extension UnitNumbering {
  /// The number of a unit, or `SequenceCore.none`.
  ///
  /// - Complexity: O(log replicas + log spans).
  @inline(__always)
  func unit(of id: OperationID) -> UInt32 {
    stretch(from: id).unit
  }

  /// The number of a unit, and how many units from it on have both consecutive ids and consecutive
  /// numbers; (`SequenceCore.none`, 0) if the unit is unknown.
  @inline(__always)
  func stretch(from id: OperationID) -> (unit: UInt32, length: UInt32) {
    let index = index(of: id.replica)
    guard index != SequenceCore.none else { return (SequenceCore.none, 0) }
    return replicas[index].stretch(from: id.seq)
  }
}

extension UnitNumbering.ReplicaSpans {
  func stretch(from seq: UInt32) -> (unit: UInt32, length: UInt32) {
    guard spans.count > 0, seq >= spans[0].seq else { return (SequenceCore.none, 0) }
    var index = spans.count - 1
    if seq < spans[index].seq {
      let bucket = (seq - spans[0].seq) >> shift
      // The span is that of the bucket or a later one, up to that of the next bucket.
      let first = buckets[bucket]
      let end = bucket + 1 < buckets.count ? min(index, buckets[bucket + 1] + 1) : index
      index = (first + 1..<max(first + 1, end)).partitioningIndex { spans[$0].seq > seq } - 1
    }
    let span = spans[index]
    let offset = seq - span.seq
    guard offset < span.length else { return (SequenceCore.none, 0) }
    return (span.unit + offset, span.length - offset)
  }

  /// Adds a span.
  ///
  /// - Returns: false, without adding anything, if one of its ids is known.
  mutating func insert(_ span: UnitNumbering.IDSpan) -> Bool {
    var index = spans.count
    while index > 0, spans[index - 1].seq > span.seq { index -= 1 }
    if index > 0, span.seq - spans[index - 1].seq < spans[index - 1].length { return false }
    if index < spans.count, spans[index].seq - span.seq < span.length { return false }
    spans.append(span)
    if index + 1 < spans.count {
      spans.move(index..<spans.count - 1, to: index + 1)
      spans[index] = span
      rebuildBuckets()
    } else if (span.seq - spans[0].seq) >> shift >= max(16, spans.count * 2) {
      rebuildBuckets()
    } else {
      fillBuckets(upTo: index)
    }
    return true
  }

  @inline(__always)
  mutating func lengthenLast(by length: UInt32) {
    spans[spans.count - 1].length += length
  }

  private mutating func rebuildBuckets() {
    buckets.removeAll()
    guard let last = spans.last else { return }
    while (last.seq - spans[0].seq) >> shift >= max(16, spans.count * 2) { shift += 1 }
    for index in 0..<spans.count { fillBuckets(upTo: index) }
  }

  private mutating func fillBuckets(upTo index: UInt32) {
    let distance = spans[index].seq - spans[0].seq
    while buckets.count <= distance >> shift {
      buckets.append(buckets.count << shift == distance ? index : index - 1)
    }
  }
}

// MARK: From number to id

extension UnitNumbering {
  /// The id of a unit.
  ///
  /// - Precondition: the number is below `count`.
  @inline(__always)
  func id(of unit: UInt32) -> OperationID {
    let span = spans[spanIndex(of: unit)]
    return OperationID(
      replica: ReplicaID(rawValue: replicas[span.replica].replica),
      seq: span.seq + (unit - span.unit))
  }

  /// The id of a unit, nil for `SequenceCore.none`.
  func optionalID(of unit: UInt32) -> OperationID? {
    unit == SequenceCore.none ? nil : id(of: unit)
  }

  @inline(__always)
  private func spanIndex(of unit: UInt32) -> UInt32 {
    precondition(unit < count, "a unit has a number")
    if let last = spans.last, unit >= last.unit { return spans.count - 1 }
    let block = unit >> 6
    let first = blocks[block]
    let end = block + 1 < blocks.count ? blocks[block + 1] + 1 : spans.count
    return (first + 1..<max(first + 1, end)).partitioningIndex { spans[$0].unit > unit } - 1
  }

  /// Whether the id of the second unit, if it had another number, follows that of the first.
  @inline(__always)
  func areConsecutive(_ first: UInt32, _ second: UInt32) -> Bool {
    if second == first + 1, spanIndex(of: first) == spanIndex(of: second) { return true }
    return id(of: first).advanced(by: 1) == id(of: second)
  }
}

// MARK: Numbering

extension UnitNumbering {
  /// Numbers units whose ids continue the last ones.
  ///
  /// - Returns: false, without numbering anything, if they do not.
  @inline(__always)
  private mutating func extendLast(_ id: OperationID, by length: UInt32) -> Bool {
    guard id.seq == tailSeq, id.replica.rawValue == tailReplica else { return false }
    replicas[tailIndex].lengthenLast(by: length)
    tailSeq &+= length
    count += length
    while blocks.count << 6 < count { blocks.append(spans.count - 1) }
    return true
  }

  /// Records the present end of the ids.
  private mutating func noteTail() {
    tailSeq = 0
    guard let last = spans.last, let end = replicas[last.replica].spans.last,
      end.unit + end.length == count
    else { return }
    tailReplica = replicas[last.replica].replica
    tailIndex = last.replica
    tailSeq = end.seq &+ end.length
  }

  /// Whether units that begin with this id would join the last span.
  @inline(__always)
  private func followsLast(_ id: OperationID) -> Bool {
    guard let last = spans.last, replicas[last.replica].replica == id.replica.rawValue else {
      return false
    }
    return UInt64(id.seq) == UInt64(last.seq) + UInt64(count - last.unit)
  }

  /// Numbers units with consecutive ids.
  ///
  /// - Returns: false, without numbering anything, if one of the ids already has a number.
  /// - Complexity: O(1) if the ids are later than all others of the replica, which holds if
  ///   operations are applied in their author's order; else O(spans).
  mutating func append(_ id: OperationID, length: UInt32) -> Bool {
    if extendLast(id, by: length) { return true }
    var index = index(of: id.replica)
    if index == SequenceCore.none {
      index = replicas.count
      addReplica(id.replica)
    }
    guard replicas[index].insert(IDSpan(seq: id.seq, unit: count, length: length)) else {
      return false
    }
    spans.append(Span(unit: count, replica: index, seq: id.seq))
    count += length
    while blocks.count << 6 < count { blocks.append(spans.count - 1) }
    noteTail()
    return true
  }

  /// Numbers units in the order of a list, in which a replica's ids may be in any order.
  ///
  /// - Returns: the first id that occurs twice, or nil.
  mutating func fill(_ stretches: [(id: OperationID, length: UInt32)]) -> OperationID? {
    var sorted: [(replica: UInt32, span: IDSpan)] = []
    sorted.reserveCapacity(stretches.count)
    for stretch in stretches {
      if followsLast(stretch.id) {
        sorted[sorted.count - 1].span.length += stretch.length
      } else {
        var index = index(of: stretch.id.replica)
        if index == SequenceCore.none {
          index = replicas.count
          addReplica(stretch.id.replica)
        }
        sorted.append(
          (index, IDSpan(seq: stretch.id.seq, unit: count, length: stretch.length)))
        spans.append(Span(unit: count, replica: index, seq: stretch.id.seq))
      }
      count += stretch.length
      while blocks.count << 6 < count { blocks.append(spans.count - 1) }
    }
    sorted.sort { ($0.replica, $0.span.seq) < ($1.replica, $1.span.seq) }
    for entry in sorted {
      guard replicas[entry.replica].insert(entry.span) else {
        return OperationID(
          replica: ReplicaID(rawValue: replicas[entry.replica].replica), seq: entry.span.seq)
      }
    }
    return nil
  }
}

// MARK: Forgetting

extension UnitNumbering {
  /// Removes the units numbered last.
  ///
  /// - Precondition: `mark` is at most `count`.
  mutating func truncate(to mark: UInt32) {
    while let last = spans.last, last.unit >= mark { spans.removeLast() }
    while blocks.count > 0, (blocks.count - 1) << 6 >= mark { blocks.removeLast() }
    for index in 0..<replicas.count { replicas[index].truncate(to: mark) }
    count = mark
    noteTail()
  }
}

extension UnitNumbering.ReplicaSpans {
  mutating func truncate(to mark: UInt32) {
    var kept: UInt32 = 0
    for index in 0..<spans.count where spans[index].unit < mark {
      spans[kept] = spans[index]
      spans[kept].length = min(spans[index].length, mark - spans[index].unit)
      kept += 1
    }
    guard kept < spans.count else { return }
    while spans.count > kept { spans.removeLast() }
    rebuildBuckets()
  }
}
