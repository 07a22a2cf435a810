import QueueModel
import SequenceCRDT

// Whole sessions
extension SnapshotPartReader {
  /// A complete part of a session.
  mutating func readSession() throws(DecodingFault) -> WorkspaceImage.Session {
    let outline = try readOutline()
    var session = WorkspaceImage.Session(key: outline.key)
    session.references = outline.references
    session.tags = outline.tags
    session.registers = outline.registers
    session.threadPosition = outline.threadPosition
    session.enqueued = outline.enqueued
    session.slots =
      outline.hasPlainSlots
      ? WorkspaceImage.SlotRun.plain(
        outline.messages.map { ($0.first.id, $0.first.stamp.milliseconds) })
      : try readSlots()
    session.messages.reserveCapacity(outline.messages.count)
    var places = SlotCursor(session.slots)
    for message in outline.messages {
      guard let slot = places.next(behind: message.deadSlotsBefore) else {
        throw DecodingFault(.invalidValue, at: runs.position, "a message has no slot")
      }
      session.messages.append(try readContent(of: message, at: slot))
    }
    try runs.requireEnd("a part's runs")
    return session
  }

  private mutating func readContent(
    of outline: SnapshotOutline.Message, at slot: OperationID
  ) throws(DecodingFault) -> WorkspaceImage.Message {
    var message = WorkspaceImage.Message(
      id: outline.id, position: WorkspaceImage.Position(stamp: outline.stamp, slot: slot))
    message.tags = outline.tags
    message.registers = outline.registers
    message.additions.reserveCapacity(1 + outline.others.count)
    message.additions.append(try readContent(of: outline.first))
    for addition in outline.others { message.additions.append(try readContent(of: addition)) }
    return message
  }

  private mutating func readContent(
    of outline: SnapshotOutline.Addition
  ) throws(DecodingFault) -> WorkspaceImage.Addition {
    let text = try self.text(outline.text)
    var addition = WorkspaceImage.Addition(
      id: outline.id, stamp: outline.stamp, runs: [], text: text)
    switch outline.form {
    case .none:
      break
    case .added:
      let length = text.unicodeScalars.count
      try budget.takeItems(length, at: outline.text.lowerBound)
      guard let first = outline.id.advanced(by: 1), fits(first, length: length) else {
        throw DecodingFault(.limitExceeded, at: outline.text.lowerBound, "a text is too long")
      }
      if let replica = replicas.firstIndex(of: outline.id.replica) {
        context.cover(replica, Int64(outline.id.seq) + Int64(length))
      }
      let run = WorkspaceImage.SlotRun(
        id: first, length: length, origins: .init(left: nil, right: nil))
      addition.runs = [WorkspaceImage.TextRun(slots: run, isVisible: true)]
    case .explicit:
      if let replica = replicas.firstIndex(of: outline.id.replica) {
        context.expect(.slot, replica, Int64(outline.id.seq) + 1)
      }
      addition.runs = try readRuns(areText: true)
    }
    return addition
  }

  /// A range of the stream of texts.
  private func text(_ range: Range<Int>) throws(DecodingFault) -> String {
    guard let text = String(validating: texts.bytes[range], as: UTF8.self) else {
      throw DecodingFault(.invalidText, at: range.lowerBound, "content is not UTF-8")
    }
    return text
  }

  private func fits(_ id: OperationID, length: Int) -> Bool {
    Int64(length) - 1 <= DeltaFormat.sequenceMax - Int64(id.seq)
  }
}

/// Walks over the slots of a list.
private struct SlotCursor {
  private let runs: [WorkspaceImage.SlotRun]
  private var run = 0
  private var offset = 0

  init(_ runs: [WorkspaceImage.SlotRun]) {
    self.runs = runs
  }

  /// The slot after a number of others.
  mutating func next(behind skipped: Int) -> OperationID? {
    var left = skipped
    while run < runs.count {
      let rest = runs[run].length - offset
      if left < rest {
        offset += left
        defer { offset += 1 }
        return runs[run].id.advanced(by: offset)
      }
      left -= rest
      run += 1
      offset = 0
    }
    return nil
  }
}

// Runs and references
extension SnapshotPartReader {
  /// The slots of a queue with their times.
  mutating func readSlots() throws(DecodingFault) -> [WorkspaceImage.SlotRun] {
    var slots = try readRuns(areText: false).map(\.slots)
    var last = context.milliseconds
    for index in slots.indices {
      let offset = runs.position
      let (time, overflow) = last.addingReportingOverflow(try runs.signed())
      guard !overflow, Operation.timesOfSlots.contains(time) else {
        throw DecodingFault(.invalidValue, at: offset, "no clock shows the time of a slot")
      }
      slots[index].origins.time = time
      last = time
    }
    return slots
  }

  mutating func readRuns(areText: Bool) throws(DecodingFault) -> [WorkspaceImage.TextRun] {
    let offset = runs.position
    let count = try runs.count(ofAtLeast: 3, max: Int.max, "runs")
    try budget.takeRows(count, at: offset)
    var lengths: [Int] = []
    lengths.reserveCapacity(count)
    for _ in 0..<count {
      let offset = runs.position
      let units = try runs.number(max: Limits.sequenceMax, "a run's length")
      guard units >= 1 else {
        throw DecodingFault(.invalidValue, at: offset, "a run is empty")
      }
      let length = Int(clamping: units)
      try budget.takeItems(length, at: offset)
      lengths.append(length)
    }
    var ids: [OperationID] = []
    ids.reserveCapacity(count)
    for length in lengths {
      let id = try readUnit(.slot)
      guard fits(id, length: length) else {
        throw DecodingFault(.limitExceeded, at: runs.position, "a run's ids are too many")
      }
      let replica = context.lastReplica(.slot)
      context.cover(replica, Int64(id.seq) + Int64(length) - 1)
      context.expect(.slot, replica, Int64(id.seq) + Int64(length))
      ids.append(id)
    }
    return try readRuns(ids: ids, lengths: lengths, areText: areText)
  }

  /// A reference among the numbers.
  mutating func read(_ kind: SnapshotFormat.Kind) throws(DecodingFault) -> OperationID {
    try SnapshotPartReader.reference(kind, from: &numbers, &context, replicas)
  }

  /// A reference among the runs.
  mutating func readUnit(
    _ kind: SnapshotFormat.Kind
  ) throws(DecodingFault) -> OperationID {
    try SnapshotPartReader.reference(kind, from: &runs, &context, replicas)
  }

  private static func reference(
    _ kind: SnapshotFormat.Kind, from reader: inout ByteReader,
    _ context: inout SnapshotFormat.Context, _ replicas: [ReplicaID]
  ) throws(DecodingFault) -> OperationID {
    let offset = reader.position
    let value = try reader.number()
    var replica = context.lastReplica(kind)
    if value & 1 == 1 { replica = try reader.index(below: replicas.count, "replica") }
    guard replica < replicas.count else {
      throw DecodingFault(.invalidValue, at: offset, "a reference, but no replica")
    }
    let (seq, overflow) = context.focus(kind, replica).addingReportingOverflow(
      ByteReader.unzigzag(value >> 1))
    guard !overflow, seq >= 1, seq <= DeltaFormat.sequenceMax else {
      throw DecodingFault(.invalidValue, at: offset, "a reference to what cannot exist")
    }
    context.note(kind, replica, seq)
    return OperationID(replica: replicas[replica], seq: UInt32(truncatingIfNeeded: seq))
  }

  mutating func readStamp() throws(DecodingFault) -> Stamp {
    let offset = numbers.position
    let value = try numbers.number()
    let (milliseconds, overflow) = context.milliseconds.addingReportingOverflow(
      ByteReader.unzigzag(value >> 1))
    guard !overflow, milliseconds >= 0, milliseconds <= Stamp.millisecondsMax else {
      throw DecodingFault(.invalidValue, at: offset, "no stamp holds that time")
    }
    context.milliseconds = milliseconds
    guard value & 1 == 1 else { return Stamp(milliseconds: milliseconds) }
    let counter = try numbers.number(max: UInt16.max, "a stamp's counter")
    guard counter > 0 else {
      throw DecodingFault(.invalidValue, at: offset, "a stamp's counter is present and 0")
    }
    return Stamp(milliseconds: milliseconds, counter: counter)
  }

  /// A count of records, within the budget.
  mutating func count(
    _ what: String, ofAtLeast bytesEach: Int = 1
  ) throws(DecodingFault) -> Int {
    let offset = numbers.position
    let count = try numbers.count(ofAtLeast: bytesEach, max: Int.max, what)
    try budget.takeRows(count, at: offset)
    return count
  }

  mutating func readText(max: Int, _ what: String) throws(DecodingFault) -> String {
    let count = try numbers.count(max: max, what)
    return try texts.utf8(bytes: count, what)
  }

  func requireAscending(
    _ values: [some Comparable], at offset: Int, _ what: String
  ) throws(DecodingFault) {
    guard zip(values, values.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw DecodingFault(.invalidValue, at: offset, "the \(what) are not in ascending order")
    }
  }
}
