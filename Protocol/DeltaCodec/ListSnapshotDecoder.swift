import QueueModel
import SequenceCRDT

/// Reads the two parts of a list's snapshot; SPECIFICATION.md, section "Lists".
struct ListSnapshotDecoder {
  private var reader: ByteReader
  private var itemsLeft: Int
  private var replicas: [ReplicaID] = []
  private var stamp = Stamp(milliseconds: DeltaFormat.epochMilliseconds)

  static func values(
    _ bytes: [UInt8], budget: DecodingBudget
  ) throws(DecodingFault) -> [ListValue] {
    var outer = ByteReader(bytes)
    let length = try outer.count(ofAtLeast: 1, max: Int.max, "bytes of numbers")
    let start = outer.position
    _ = try outer.raw(length)
    var decoder = ListSnapshotDecoder(
      reader: ByteReader(bytes, range: start..<start + length), itemsLeft: budget.itemsMax)
    return try decoder.readValues(strings: &outer)
  }

  /// - Parameter values: what `values` gave.
  static func state(
    _ bytes: [UInt8], values: [ListValue], budget: DecodingBudget
  ) throws(DecodingFault) -> ListImage {
    var decoder = ListSnapshotDecoder(reader: ByteReader(bytes), itemsLeft: budget.itemsMax)
    return try decoder.readImage(values: values, replicasMax: budget.replicasMax)
  }

  private init(reader: ByteReader, itemsLeft: Int) {
    self.reader = reader
    self.itemsLeft = itemsLeft
  }

  private mutating func readValues(
    strings: inout ByteReader
  ) throws(DecodingFault) -> [ListValue] {
    let count = try reader.count(ofAtLeast: 1, max: itemsLeft, "values")
    var values: [ListValue] = []
    values.reserveCapacity(count)
    var last: Int64 = 0
    while values.count < count {
      let offset = reader.position
      let head = try reader.count(max: count << 1 | 1, "a stretch of values")
      guard head >> 1 >= 1, head >> 1 <= count - values.count else {
        throw DecodingFault(.invalidValue, at: offset, "a stretch of \(head >> 1) values")
      }
      for _ in 0..<head >> 1 {
        if head & 1 == 0 {
          last &+= Int64(try reader.signed())
          values.append(.integer(last))
        } else {
          let bytes = try reader.count(max: Limits.contentBytesMax, "a value's bytes")
          values.append(.text(try strings.utf8(bytes: bytes, "a value")))
        }
      }
    }
    try reader.requireEnd("the values")
    try strings.requireEnd("the values")
    return values
  }

  private mutating func readImage(
    values: [ListValue], replicasMax: Int
  ) throws(DecodingFault) -> ListImage {
    var known: [OperationID] = []
    for _ in 0..<(try reader.count(ofAtLeast: 9, max: replicasMax, "replicas")) {
      let offset = reader.position
      let replica = ReplicaID(rawValue: try reader.fixed())
      let seq = try reader.count(max: Int(Limits.sequenceMax), "a sequence number")
      guard replica.rawValue != 0, seq >= 1, replicas.last.map({ $0 < replica }) ?? true else {
        throw DecodingFault(.invalidValue, at: offset, "replicas are not in ascending order")
      }
      replicas.append(replica)
      known.append(OperationID(replica: replica, seq: UInt32(truncatingIfNeeded: seq)))
    }
    let latest = try readStamp()
    let runs = try readRuns()
    var owners: [OperationID] = []
    for run in runs {
      for offset in 0..<run.length { owners.append(try readID(from: run.unitID(at: offset))) }
    }
    var slots: [OperationID] = []
    for run in runs where run.isVisible {
      for offset in 0..<run.length { slots.append(run.unitID(at: offset)) }
    }
    guard slots.count == values.count else {
      throw DecodingFault(
        .invalidValue, at: reader.position, "\(slots.count) places for \(values.count) values")
    }
    let elements = try readElements(slots: slots, values: values)
    try reader.requireEnd("the state")
    return ListImage(
      replicas: known, runs: runs, owners: owners, elements: elements, latestStamp: latest)
  }

  private mutating func readRuns() throws(DecodingFault) -> [RunSequence.Run] {
    var runs: [RunSequence.Run] = []
    var lastSlot = OperationID(replica: ReplicaID(rawValue: 0), seq: 0)
    for _ in 0..<(try reader.count(ofAtLeast: 4, max: itemsLeft, "runs")) {
      let offset = reader.position
      let head = try reader.count(max: itemsLeft << 1 | 1, "a run's slots")
      // Each slot's owner takes a byte behind the runs.
      guard head >> 1 >= 1, head >> 1 <= itemsLeft, head >> 1 <= reader.remaining else {
        throw DecodingFault(.invalidValue, at: offset, "a run of \(head >> 1) slots")
      }
      itemsLeft -= head >> 1
      let id = try readID(from: lastSlot)
      guard Int(id.seq) + head >> 1 - 1 <= Int(Limits.sequenceMax) else {
        throw DecodingFault(.invalidValue, at: offset, "a run's slots cannot exist")
      }
      let shape = try reader.byte()
      var run = RunSequence.Run(
        id: id, length: head >> 1, left: nil, right: nil, isVisible: head & 1 == 1)
      lastSlot = run.unitID(at: run.length - 1)
      switch shape & 3 {
      case 0: break
      case 1:
        run.left = try previous(runs, offset).unitID(at: try previous(runs, offset).length - 1)
      case 2: run.left = try readID(from: id)
      default: throw DecodingFault(.unsupported, at: offset, "shape \(shape) is unknown: update")
      }
      switch shape >> 2 {
      case 0: break
      case 1: run.right = try previous(runs, offset).right
      case 2: run.right = try readID(from: id)
      default: throw DecodingFault(.unsupported, at: offset, "shape \(shape) is unknown: update")
      }
      runs.append(run)
    }
    return runs
  }

  private func previous(
    _ runs: [RunSequence.Run], _ offset: Int
  ) throws(DecodingFault) -> RunSequence.Run {
    guard let last = runs.last else {
      throw DecodingFault(.invalidValue, at: offset, "the first run has none before it")
    }
    return last
  }

  private mutating func readElements(
    slots: [OperationID], values: [ListValue]
  ) throws(DecodingFault) -> [ListImage.Element] {
    var elements: [ListImage.Element] = []
    elements.reserveCapacity(slots.count)
    for (slot, value) in zip(slots, values) {
      elements.append(
        ListImage.Element(
          value: value, valueStamp: .zero, valueWriter: slot, slot: slot,
          positionStamp: try readStamp()))
    }
    for index in elements.indices { elements[index].valueStamp = try readStamp() }
    var last = 0
    for index in elements.indices {
      let replica = replicas[try reader.index(below: replicas.count, "replica")]
      last = try readSequence(from: last, distance: try reader.signed())
      elements[index].valueWriter = OperationID(
        replica: replica, seq: UInt32(truncatingIfNeeded: last))
    }
    return elements
  }

  private mutating func readID(from other: OperationID) throws(DecodingFault) -> OperationID {
    let value = try reader.number()
    let seq = try readSequence(
      from: Int(other.seq), distance: ByteReader.unzigzag(value >> 1))
    let replica =
      value & 1 == 0
      ? other.replica : replicas[try reader.index(below: replicas.count, "replica")]
    guard replica.rawValue != 0, value & 1 == 0 || replica != other.replica else {
      throw DecodingFault(.invalidValue, at: reader.position, "a replica that cannot be named")
    }
    return OperationID(replica: replica, seq: UInt32(truncatingIfNeeded: seq))
  }

  private func readSequence(from base: Int, distance: Int) throws(DecodingFault) -> Int {
    let (seq, overflow) = base.addingReportingOverflow(distance)
    guard !overflow, seq >= 1, seq <= Int(Limits.sequenceMax) else {
      throw DecodingFault(.invalidValue, at: reader.position, "a reference to what cannot exist")
    }
    return seq
  }

  private mutating func readStamp() throws(DecodingFault) -> Stamp {
    let offset = reader.position
    let value = try reader.number()
    let (milliseconds, overflow) = stamp.milliseconds.addingReportingOverflow(
      Int64(ByteReader.unzigzag(value >> 1)))
    guard !overflow, milliseconds >= 0, milliseconds <= Stamp.millisecondsMax else {
      throw DecodingFault(.invalidValue, at: offset, "no stamp holds that time")
    }
    let counter = value & 1 == 0 ? 0 : try reader.count(max: Int(UInt16.max), "a counter")
    guard value & 1 == 0 || counter > 0 else {
      throw DecodingFault(.invalidValue, at: offset, "a stamp's counter is there and 0")
    }
    stamp = Stamp(milliseconds: milliseconds, counter: UInt16(truncatingIfNeeded: counter))
    return stamp
  }
}
