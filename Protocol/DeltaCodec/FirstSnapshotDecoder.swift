import QueueModel
import SequenceCRDT

/// Reads snapshots of layout 1, which version 0.1.0 wrote into its files: sessions, then all
/// messages, each naming its session by index, with indexes of messages at the slots.
///
/// SPECIFICATION.md, section "Snapshot", says how the layout differs. Nothing writes it any more.
struct FirstSnapshotDecoder {
  /// What references are predicted from: the last id of each kind, per replica.
  private enum Focus: Int, CaseIterable {
    case slot, tag, element, writer
  }

  private struct Context {
    private var focuses: [[Int]]
    private var lastReplicas: [Int]
    /// Milliseconds since 1970.
    var milliseconds = DeltaFormat.epochMilliseconds
    var messageSession = 0

    init(replicaCount: Int) {
      focuses = Array(
        repeating: Array(repeating: 0, count: replicaCount), count: Focus.allCases.count)
      lastReplicas = Array(repeating: 0, count: Focus.allCases.count)
    }

    subscript(focus: Focus, replica: Int) -> Int {
      get { focuses[focus.rawValue][replica] }
      set { focuses[focus.rawValue][replica] = newValue }
    }

    subscript(lastReplica focus: Focus) -> Int {
      get { lastReplicas[focus.rawValue] }
      set { lastReplicas[focus.rawValue] = newValue }
    }
  }

  private var numbers: ByteReader
  private var identifiers: ByteReader
  private var texts: ByteReader
  private var replicas: [ReplicaID] = []
  private var context = Context(replicaCount: 0)
  private let budget: DecodingBudget
  private var rowsLeft: Int
  private var itemsLeft: Int

  /// - Parameter reader: stands behind the number of the layout.
  static func decode(
    _ reader: ByteReader, budget: DecodingBudget
  ) throws(DecodingFault) -> WorkspaceImage {
    var decoder = try FirstSnapshotDecoder(reader, budget: budget)
    return try decoder.readImage()
  }

  private init(_ reader: ByteReader, budget: DecodingBudget) throws(DecodingFault) {
    var reader = reader
    numbers = try FirstSnapshotDecoder.stream(from: &reader)
    identifiers = try FirstSnapshotDecoder.stream(from: &reader)
    texts = reader
    let budget = budget.limited(toSnapshotOf: reader.bytes.count)
    self.budget = budget
    rowsLeft = budget.rowsMax
    itemsLeft = budget.itemsMax
  }

  private static func stream(from reader: inout ByteReader) throws(DecodingFault) -> ByteReader {
    let length = try reader.count(ofAtLeast: 1, max: Int.max, "a stream's bytes")
    let start = reader.position
    _ = try reader.raw(length)
    return ByteReader(reader.bytes, range: start..<start + length)
  }

  private mutating func readImage() throws(DecodingFault) -> WorkspaceImage {
    var image = WorkspaceImage()
    let offset = numbers.position
    let replicaCount = try numbers.count(ofAtLeast: 2, max: budget.replicasMax, "replicas")
    for _ in 0..<replicaCount { image.replicas.append(try readReplica()) }
    replicas = image.replicas.map(\.id)
    try requireAscending(replicas, at: offset, "replicas")
    context = Context(replicaCount: replicas.count)
    for _ in 0..<(try count("sessions", ofAtLeast: 6)) {
      image.sessions.append(try readSession())
    }
    try requireAscending(image.sessions.map(\.key), at: numbers.position, "sessions")
    var messages: [[OperationID: WorkspaceImage.Message]] = Array(
      repeating: [:], count: image.sessions.count)
    var ids: [MessageID] = []
    for _ in 0..<(try count("messages", ofAtLeast: 6)) {
      let (session, message) = try readMessage(sessionCount: image.sessions.count)
      ids.append(message.id)
      guard messages[session].updateValue(message, forKey: message.position.slot) == nil else {
        throw DecodingFault(.invalidValue, at: numbers.position, "two messages at one slot")
      }
    }
    try requireAscending(ids, at: numbers.position, "messages")
    for index in image.sessions.indices {
      try place(messages[index], in: &image.sessions[index])
    }
    image.threadSlots = try readRuns(areText: false).map(\.slots)
    try skipOwners(of: image.threadSlots, bound: image.sessions.count)
    try numbers.requireEnd("the snapshot's numbers")
    try identifiers.requireEnd("the snapshot's identifiers")
    try texts.requireEnd("the snapshot's texts")
    return image
  }

  /// Puts the messages of a session into the order of their slots.
  private func place(
    _ messages: [OperationID: WorkspaceImage.Message], in session: inout WorkspaceImage.Session
  ) throws(DecodingFault) {
    guard !messages.isEmpty else { return }
    for run in session.slots {
      for offset in 0..<run.length {
        guard let slot = run.id.advanced(by: offset), let message = messages[slot] else { continue }
        session.messages.append(message)
      }
    }
    guard session.messages.count == messages.count else {
      throw DecodingFault(.invalidValue, at: numbers.position, "a message has no slot")
    }
  }

  private mutating func readReplica() throws(DecodingFault) -> WorkspaceImage.Replica {
    let id = try identifiers.fixed()
    guard id != 0 else {
      throw DecodingFault(.invalidValue, at: identifiers.position - 8, "0 is no replica id")
    }
    let seq = try numbers.count(max: Int(Limits.sequenceMax), "a sequence number")
    let digest = try identifiers.fixed()
    let announcedSeq = try numbers.count(max: Int(Limits.sequenceMax), "a sequence number")
    var announcement: WorkspaceImage.Announcement?
    if announcedSeq > 0 {
      let device = try identifiers.identifier(DeviceID.self)
      announcement = WorkspaceImage.Announcement(
        seq: UInt32(truncatingIfNeeded: announcedSeq), device: device,
        name: try readText(max: Limits.nameBytesMax, "a device's name"))
    }
    return WorkspaceImage.Replica(
      id: ReplicaID(rawValue: id), seq: UInt32(truncatingIfNeeded: seq), digest: digest,
      announcement: announcement)
  }

  private mutating func readSession() throws(DecodingFault) -> WorkspaceImage.Session {
    let offset = texts.position
    let name = try readText(max: Limits.sessionIDBytesMax, "a session id")
    guard let key = try? SessionID(name), key.rawValue.utf8.elementsEqual(name.utf8) else {
      throw DecodingFault(.invalidValue, at: offset, "a session id that cannot be")
    }
    var session = WorkspaceImage.Session(key: key)
    for _ in 0..<(try count("references")) { session.references.append(try read(.element)) }
    session.tags = try readTags()
    session.registers = try readRegisters()
    let flags = try numbers.count(max: 3, "a session's positions")
    if flags & 1 != 0 { session.threadPosition = try readPosition() }
    if flags & 2 != 0 { session.enqueued = try readPosition() }
    session.slots = try readRuns(areText: false).map(\.slots)
    try skipOwners(of: session.slots, bound: Int.max)
    return session
  }

  private mutating func readMessage(
    sessionCount: Int
  ) throws(DecodingFault) -> (session: Int, message: WorkspaceImage.Message) {
    let id = try identifiers.identifier(MessageID.self)
    var additions: [WorkspaceImage.Addition] = []
    for _ in 0..<(try count("additions", ofAtLeast: 3)) { additions.append(try readAddition()) }
    let tags = try readTags()
    let registers = try readRegisters()
    let offset = numbers.position
    let (session, overflow) = context.messageSession.addingReportingOverflow(try numbers.signed())
    guard !overflow, session >= 0, session < sessionCount else {
      throw DecodingFault(.invalidValue, at: offset, "a message's session is not there")
    }
    context.messageSession = session
    var message = WorkspaceImage.Message(id: id, position: try readPosition())
    message.additions = additions
    message.tags = tags
    message.registers = registers
    return (session, message)
  }

  private mutating func readAddition() throws(DecodingFault) -> WorkspaceImage.Addition {
    let id = try read(.element)
    let stamp = try readStamp()
    let runs = try readRuns(areText: true)
    let visible = runs.reduce(0) { $1.isVisible ? $0 + $1.slots.length : $0 }
    let text = try texts.scalars(visible, bytesMax: Int.max, "content")
    return WorkspaceImage.Addition(id: id, stamp: stamp, runs: runs, text: text)
  }

  private mutating func readTags() throws(DecodingFault) -> [WorkspaceImage.Tags] {
    var fields: [WorkspaceImage.Tags] = []
    for _ in 0..<(try count("tag fields", ofAtLeast: 2)) {
      let field = TagField(rawValue: try numbers.byte())
      var tags: [WorkspaceImage.Tag] = []
      for _ in 0..<(try count("tags", ofAtLeast: 2)) {
        let id = try read(.tag)
        tags.append(
          WorkspaceImage.Tag(id: id, note: try readText(max: Limits.nameBytesMax, "a note")))
      }
      fields.append(WorkspaceImage.Tags(field: field, tags: tags))
    }
    try requireAscending(fields.map(\.field.rawValue), at: numbers.position, "tag fields")
    return fields
  }

  private mutating func readRegisters() throws(DecodingFault) -> [WorkspaceImage.Register] {
    var registers: [WorkspaceImage.Register] = []
    for _ in 0..<(try count("registers", ofAtLeast: 5)) {
      let field = RegisterField(rawValue: try numbers.byte())
      let offset = numbers.position
      let value: RegisterValue
      switch try numbers.byte() {
      case 0: value = .number(try numbers.number())
      case 1: value = .text(try readText(max: Limits.nameBytesMax, "a register's text"))
      default: throw DecodingFault(.unsupported, at: offset, "a register's value is unknown here")
      }
      let stamp = try readStamp()
      registers.append(
        WorkspaceImage.Register(
          field: field, value: value, stamp: stamp, writer: try read(.writer)))
    }
    try requireAscending(registers.map(\.field.rawValue), at: numbers.position, "registers")
    return registers
  }

  private mutating func readPosition() throws(DecodingFault) -> WorkspaceImage.Position {
    let stamp = try readStamp()
    return WorkspaceImage.Position(stamp: stamp, slot: try read(.writer))
  }

  /// Whom slots were made for; the positions of the messages say what of it matters.
  private mutating func skipOwners(
    of runs: [WorkspaceImage.SlotRun], bound: Int
  ) throws(DecodingFault) {
    let slotCount = runs.reduce(0) { $0 + $1.length }
    guard slotCount <= numbers.remaining else { throw numbers.truncated() }
    var expected = 0
    for _ in 0..<slotCount {
      let offset = numbers.position
      let (owner, overflow) = expected.addingReportingOverflow(try numbers.signed())
      guard !overflow, owner >= 0, owner < bound else {
        throw DecodingFault(.invalidValue, at: offset, "a slot belongs to what is not there")
      }
      expected = owner + 1
    }
  }
}

// Fields
extension FirstSnapshotDecoder: SnapshotRunReader {
  var shapes: ByteReader {
    get { numbers }
    _modify { yield &numbers }
  }

  mutating func readOrigin() throws(DecodingFault) -> OperationID {
    try read(.slot)
  }

  private mutating func readRuns(
    areText: Bool
  ) throws(DecodingFault) -> [WorkspaceImage.TextRun] {
    let count = try count("runs", ofAtLeast: 3)
    var lengths: [Int] = []
    for _ in 0..<count {
      let offset = numbers.position
      let length = try numbers.count(max: Int(Limits.sequenceMax), "a run's length")
      guard length >= 1 else {
        throw DecodingFault(.invalidValue, at: offset, "a run is empty")
      }
      guard length <= itemsLeft else {
        throw DecodingFault(.budgetExceeded, at: offset, "more than \(budget.itemsMax) items")
      }
      itemsLeft -= length
      lengths.append(length)
    }
    var ids: [OperationID] = []
    for length in lengths {
      let id = try read(.slot)
      guard length - 1 <= Int(Limits.sequenceMax) - Int(id.seq) else {
        throw DecodingFault(.limitExceeded, at: numbers.position, "a run's ids are too many")
      }
      ids.append(id)
    }
    return try readRuns(ids: ids, lengths: lengths, areText: areText)
  }

  private mutating func read(_ focus: Focus) throws(DecodingFault) -> OperationID {
    let offset = numbers.position
    let value = try numbers.number()
    if value & 1 == 1 {
      context[lastReplica: focus] = try numbers.index(below: replicas.count, "replica")
    }
    let replica = context[lastReplica: focus]
    guard replica < replicas.count else {
      throw DecodingFault(.invalidValue, at: offset, "a reference, but no replica")
    }
    let (seq, overflow) = context[focus, replica].addingReportingOverflow(
      ByteReader.unzigzag(value >> 1))
    guard !overflow, seq >= 1, seq <= Int(Limits.sequenceMax) else {
      throw DecodingFault(.invalidValue, at: offset, "a reference to what cannot exist")
    }
    context[focus, replica] = seq
    return OperationID(replica: replicas[replica], seq: UInt32(truncatingIfNeeded: seq))
  }

  private mutating func readStamp() throws(DecodingFault) -> Stamp {
    let offset = numbers.position
    let value = try numbers.number()
    let (milliseconds, overflow) = context.milliseconds.addingReportingOverflow(
      Int64(ByteReader.unzigzag(value >> 1)))
    guard !overflow, milliseconds >= 0, milliseconds <= Stamp.millisecondsMax else {
      throw DecodingFault(.invalidValue, at: offset, "no stamp holds that time")
    }
    context.milliseconds = milliseconds
    guard value & 1 == 1 else { return Stamp(milliseconds: milliseconds) }
    let counter = try numbers.count(max: Int(UInt16.max), "a stamp's counter")
    guard counter > 0 else {
      throw DecodingFault(.invalidValue, at: offset, "a stamp's counter is there and 0")
    }
    return Stamp(milliseconds: milliseconds, counter: UInt16(truncatingIfNeeded: counter))
  }

  /// A count of records, within the budget.
  private mutating func count(
    _ what: String, ofAtLeast bytesEach: Int = 1
  ) throws(DecodingFault) -> Int {
    let offset = numbers.position
    let count = try numbers.count(ofAtLeast: bytesEach, max: Int.max, what)
    guard count <= rowsLeft else {
      throw DecodingFault(.budgetExceeded, at: offset, "more than \(budget.rowsMax) records")
    }
    rowsLeft -= count
    return count
  }

  private mutating func readText(max: Int, _ what: String) throws(DecodingFault) -> String {
    let count = try numbers.count(max: max, what)
    return try texts.utf8(bytes: count, what)
  }

  private func requireAscending(
    _ values: [some Comparable], at offset: Int, _ what: String
  ) throws(DecodingFault) {
    guard zip(values, values.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw DecodingFault(.invalidValue, at: offset, "the \(what) are not in ascending order")
    }
  }
}
