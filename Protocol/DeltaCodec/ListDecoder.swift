import QueueModel
import SequenceCRDT

/// Reads the rows of a list delta; SPECIFICATION.md, section "Lists".
struct ListDecoder: ~Copyable {
  private typealias Head = ListFormat.Head

  private var source: ListSource
  private var context: ListFormat.Context
  private var log = ListLog()
  private let replicaCount: Int
  private let budget: DecodingBudget
  private var itemsLeft: Int

  static func decode(_ bytes: [UInt8], budget: DecodingBudget) throws(DecodingFault) -> ListLog {
    var reader = ByteReader(bytes)
    let count = try reader.count(ofAtLeast: 9, max: budget.replicasMax, "replicas")
    var log = ListLog()
    var bases: [UInt32] = []
    for index in 0..<count {
      let offset = reader.position
      let replica = ReplicaID(rawValue: try reader.fixed())
      guard replica.rawValue != 0, log.note(replica) == index else {
        throw DecodingFault(.invalidValue, at: offset, "a replica is 0 or stands twice")
      }
      let base = try reader.count(max: Int(Limits.sequenceMax) - 1, "a sequence number")
      bases.append(UInt32(truncatingIfNeeded: base + 1))
    }
    let source = try ListSource(rest: reader)
    var decoder = ListDecoder(source: source, log: log, bases: bases, budget: budget)
    try decoder.readRows()
    return decoder.log
  }

  private init(
    source: consuming ListSource, log: ListLog, bases: [UInt32], budget: DecodingBudget
  ) {
    self.source = source
    self.log = log
    self.budget = budget
    context = ListFormat.Context(bases: bases)
    replicaCount = bases.count
    itemsLeft = budget.itemsMax
  }

  private mutating func readRows() throws(DecodingFault) {
    var rows = 0
    while !source[.heads].isAtEnd {
      rows += 1
      guard rows <= budget.rowsMax else {
        throw fault(.budgetExceeded, .heads, "more than \(budget.rowsMax) rows")
      }
      try readRow()
    }
    guard rows > 0 || replicaCount == 0 else {
      throw fault(.truncated, .heads, "replicas, but no row")
    }
    try source.requireEnd()
  }

  private mutating func readRow() throws(DecodingFault) {
    let head = try source[.heads].byte()
    guard head & Head.unused == 0 else {
      throw fault(.unsupported, .heads, "row kind \(head) is unknown here: update")
    }
    guard replicaCount > 0, let kind = ListLog.Kind(rawValue: head & Head.kindMask) else {
      throw fault(.invalidValue, .heads, "a row, but no replica in the table")
    }
    let hasValues = kind == .insert || kind == .set
    let holdsTexts = head & Head.holdsTexts != 0
    guard hasValues || !holdsTexts, kind != .remove || head & Head.hasStamp == 0 else {
      throw fault(.invalidValue, .heads, "a row of kind \(kind) with head \(head)")
    }
    let first = try readID(head)
    if head & Head.hasStamp != 0 { try readStamp() }
    let count = try readCount(head, first: first)
    switch kind {
    case .insert: try readInsertion(first, count: count, holdsTexts: holdsTexts)
    case .set: try readWrites(first, count: count, holdsTexts: holdsTexts)
    case .move: try readMoves(first, count: count)
    case .remove:
      for unit in 0..<count { log.remove(id: first.advanced(by: unit), element: try readElement()) }
    }
    context.nextSequences[context.author] = first.seq + UInt32(count)
  }

  private mutating func readID(_ head: UInt8) throws(DecodingFault) -> ListID {
    if head & Head.switchesAuthor != 0 {
      context.author = try source[.structure].index(below: replicaCount, "replica")
    }
    var seq = context.nextSequences[context.author]
    if head & Head.skipsSequence != 0 {
      let distance = try source[.structure].signed()
      let (sum, overflow) = Int(seq).addingReportingOverflow(distance)
      guard !overflow, distance != 0, sum >= 1, sum <= Int(Limits.sequenceMax) else {
        throw fault(.invalidValue, .structure, "no sequence number lies there")
      }
      seq = UInt32(truncatingIfNeeded: sum)
    }
    return ListID(replica: context.author, seq: seq)
  }

  /// How many units the row has; each takes a byte of some column at least.
  private mutating func readCount(_ head: UInt8, first: ListID) throws(DecodingFault) -> Int {
    var count = 1
    if head & Head.hasCount != 0 {
      count = try source[.counts].count(max: Int(Limits.sequenceMax) - 2, "units") + 2
    }
    guard count <= itemsLeft else {
      throw fault(.budgetExceeded, .counts, "more than \(budget.itemsMax) units")
    }
    guard count <= Int(Limits.sequenceMax) - Int(first.seq) + 1 else {
      throw fault(.limitExceeded, .counts, "\(count) ids after \(first.seq) are too many")
    }
    itemsLeft -= count
    return count
  }

  private mutating func readInsertion(
    _ first: ListID, count: Int, holdsTexts: Bool
  ) throws(DecodingFault) {
    let place = try readPlace()
    guard count <= source[.numbers].remaining else { throw source[.numbers].truncated() }
    var values: [ListValue] = []
    values.reserveCapacity(count)
    for _ in 0..<count { values.append(try readValue(isText: holdsTexts)) }
    log.insert(
      id: first, left: place.left, right: place.right, stamp: context.stamp, values: values[...])
    context.lastSlots[context.author] = first.advanced(by: count - 1).seq
  }

  private mutating func readWrites(
    _ first: ListID, count: Int, holdsTexts: Bool
  ) throws(DecodingFault) {
    for unit in 0..<count {
      let element = try readElement()
      log.set(
        id: first.advanced(by: unit), element: element, stamp: context.stamp,
        value: try readValue(isText: holdsTexts))
    }
  }

  private mutating func readMoves(_ first: ListID, count: Int) throws(DecodingFault) {
    for unit in 0..<count {
      let id = first.advanced(by: unit)
      let element = try readElement()
      let place = try readPlace()
      log.move(
        id: id, element: element, left: place.left, right: place.right, stamp: context.stamp)
      context.lastSlots[context.author] = id.seq
    }
  }

  private mutating func readStamp() throws(DecodingFault) {
    let value = try source[.times].number()
    let (milliseconds, overflow) = context.stamp.milliseconds.addingReportingOverflow(
      Int64(ByteReader.unzigzag(value >> 1)))
    guard !overflow, milliseconds >= 0, milliseconds <= Stamp.millisecondsMax else {
      throw fault(.invalidValue, .times, "no stamp holds that time")
    }
    var counter = 0
    if value & 1 == 1 {
      counter = try source[.counters].count(max: Int(UInt16.max), "a stamp's counter")
      guard counter > 0 else {
        throw fault(.invalidValue, .counters, "a stamp's counter is there and 0")
      }
    }
    context.stamp = Stamp(
      milliseconds: milliseconds, counter: UInt16(truncatingIfNeeded: counter))
  }

  private mutating func readElement() throws(DecodingFault) -> ListID {
    let replica = try readReplica(.elementReplicas)
    let seq = try readSequence(.elements, from: context.elementFocus[replica])
    context.elementFocus[replica] = seq
    return ListID(replica: replica, seq: seq)
  }

  private mutating func readPlace() throws(DecodingFault) -> (left: ListID, right: ListID) {
    let shape = try source[.shapes].byte()
    var left = ListID.none
    switch shape & 3 {
    case ListFormat.LeftTag.last:
      let seq = context.lastSlots[context.author]
      guard seq >= 1 else { throw fault(.invalidValue, .shapes, "no slot was inserted before") }
      left = ListID(replica: context.author, seq: seq)
    case ListFormat.LeftTag.start:
      break
    case ListFormat.LeftTag.explicit:
      let replica = try readReplica(.leftReplicas)
      left = ListID(
        replica: replica, seq: try readSequence(.lefts, from: context.slotFocus[replica]))
      context.slotFocus[replica] = left.seq
    default:
      throw fault(.unsupported, .shapes, "shape \(shape) is unknown here: update")
    }
    guard shape < 16 else {
      throw fault(.unsupported, .shapes, "shape \(shape) is unknown here: update")
    }
    context.lastRight = try readRight(shape >> 2, left: left)
    return (left, context.lastRight)
  }

  private mutating func readRight(
    _ tag: UInt8, left: ListID
  ) throws(DecodingFault) -> ListID {
    switch tag {
    case ListFormat.RightTag.end:
      return .none
    case ListFormat.RightTag.besideLeft:
      guard !left.isNone, left.seq < Limits.sequenceMax else {
        throw fault(.invalidValue, .shapes, "a right origin beside no left one")
      }
      return left.advanced(by: 1)
    case ListFormat.RightTag.same:
      guard !context.lastRight.isNone else {
        throw fault(.invalidValue, .shapes, "there was no right origin before")
      }
      return context.lastRight
    default:
      let replica = try readReplica(.rightReplicas)
      let isBesideLeft = !left.isNone && left.replica == replica
      let base = isBesideLeft ? left.seq : context.slotFocus[replica]
      return ListID(replica: replica, seq: try readSequence(.rights, from: base))
    }
  }

  private mutating func readReplica(_ column: ListFormat.Column) throws(DecodingFault) -> Int {
    guard replicaCount > 1 else { return 0 }
    return try source[column].index(below: replicaCount, "replica")
  }

  private mutating func readSequence(
    _ column: ListFormat.Column, from base: UInt32
  ) throws(DecodingFault) -> UInt32 {
    let (seq, overflow) = Int(base).addingReportingOverflow(try source[column].signed())
    guard !overflow, seq >= 1, seq <= Int(Limits.sequenceMax) else {
      throw fault(.invalidValue, column, "a reference to what cannot exist")
    }
    return UInt32(truncatingIfNeeded: seq)
  }

  private mutating func readValue(isText: Bool) throws(DecodingFault) -> ListValue {
    guard isText else {
      context.number &+= Int64(try source[.numbers].signed())
      return .integer(context.number)
    }
    let count = try source[.numbers].count(max: Limits.contentBytesMax, "a value's bytes")
    return .text(try source[.strings].utf8(bytes: count, "a value"))
  }

  private mutating func fault(
    _ code: DecodingFault.Code, _ column: ListFormat.Column, _ message: String
  ) -> DecodingFault {
    DecodingFault(code, at: source[column].position, message)
  }
}
