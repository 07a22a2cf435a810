import QueueModel
import SequenceCRDT

/// Reads one part of a snapshot: the workspace's own, or a session's.
struct SnapshotPartReader {
  var numbers: ByteReader
  var runs: ByteReader
  var identifiers: ByteReader
  var texts: ByteReader
  /// The part's own table.
  let replicas: [ReplicaID]
  var context = SnapshotFormat.Context()
  var budget: SnapshotBudget

  /// Reads the table of replicas.
  init(
    numbers: ByteReader, runs: ByteReader, identifiers: ByteReader, texts: ByteReader,
    budget: SnapshotBudget
  ) throws(DecodingFault) {
    self.numbers = numbers
    self.runs = runs
    self.identifiers = identifiers
    self.texts = texts
    self.budget = budget
    let count = try self.numbers.count(max: budget.replicasMax, "replicas")
    guard count <= self.identifiers.remaining / 8 else { throw self.identifiers.truncated() }
    var table: [ReplicaID] = []
    for _ in 0..<count {
      table.append(try SnapshotPartReader.replica(from: &self.identifiers))
      context.addReplica()
    }
    replicas = table
  }

  private static func replica(from reader: inout ByteReader) throws(DecodingFault) -> ReplicaID {
    let id = try reader.fixed()
    guard id != 0 else {
      throw DecodingFault(.invalidValue, at: reader.position - 8, "0 is not a replica id")
    }
    return ReplicaID(rawValue: id)
  }

  /// The workspace's part.
  mutating func readWorkspace() throws(DecodingFault) -> (
    [WorkspaceImage.Replica], [WorkspaceImage.SlotRun]
  ) {
    let devices = try readDevices()
    let offset = numbers.position
    let count = try numbers.count(ofAtLeast: 2, max: budget.replicasMax, "replicas")
    guard count <= identifiers.remaining / 8 else { throw identifiers.truncated() }
    var known: [WorkspaceImage.Replica] = []
    known.reserveCapacity(count)
    for _ in 0..<count { known.append(try readReplica(of: devices)) }
    try requireAscending(known.map(\.id), at: offset, "replicas")
    let slots = try readSlots()
    try requireEnd()
    return (known, slots)
  }

  private mutating func readDevices() throws(DecodingFault) -> [(id: DeviceID, name: String)] {
    let count = try numbers.count(ofAtLeast: 1, max: budget.replicasMax, "devices")
    guard count <= identifiers.remaining / 16 else { throw identifiers.truncated() }
    var devices: [(id: DeviceID, name: String)] = []
    devices.reserveCapacity(count)
    for _ in 0..<count {
      let id = try identifiers.identifier(DeviceID.self)
      devices.append((id, try readText(max: Limits.nameBytesMax, "a device's name")))
    }
    return devices
  }

  private mutating func readReplica(
    of devices: [(id: DeviceID, name: String)]
  ) throws(DecodingFault) -> WorkspaceImage.Replica {
    let id = try SnapshotPartReader.replica(from: &identifiers)
    let seq = try numbers.number(max: Limits.sequenceMax, "a sequence number")
    var replica = WorkspaceImage.Replica(id: id, seq: seq, announcement: nil)
    let offset = numbers.position
    let place = try numbers.count(max: devices.count, "a device's place")
    guard place > 0 else { return replica }
    let announced = try numbers.number(max: seq, "a sequence number")
    guard announced > 0 else {
      throw DecodingFault(.invalidValue, at: offset, "an announcement has no number")
    }
    replica.announcement = WorkspaceImage.Announcement(
      seq: announced, device: devices[place - 1].id, name: devices[place - 1].name)
    return replica
  }

  /// A session's part, without the runs.
  mutating func readOutline() throws(DecodingFault) -> SnapshotOutline {
    let outline = try readBeginning(messagesMax: .max)
    try numbers.requireEnd("a part's numbers")
    try identifiers.requireEnd("a part's identifiers")
    try texts.requireEnd("a part's texts")
    return outline
  }

  /// A session's part up to some of its messages, without the runs.
  mutating func readBeginning(messagesMax: Int) throws(DecodingFault) -> SnapshotOutline {
    var outline = try readHead()
    let messageCount = try count("messages", ofAtLeast: 3)
    guard messageCount <= identifiers.remaining / 16 else { throw identifiers.truncated() }
    let wantedCount = min(messageCount, messagesMax)
    outline.messages.reserveCapacity(wantedCount)
    for _ in 0..<wantedCount { outline.messages.append(try readMessage()) }
    return outline
  }

  /// A session's part up to the messages.
  mutating func readHead() throws(DecodingFault) -> SnapshotOutline {
    var outline = SnapshotOutline(key: try readKey())
    for _ in 0..<(try count("references")) {
      outline.references.append(try read(.element))
    }
    outline.tags = try readTags()
    outline.registers = try readRegisters()
    let flagsOffset = numbers.position
    let flags = try numbers.byte()
    let isThere = flags & SnapshotFormat.SessionFlag.enqueuedThere != 0
    guard flags < 16, !isThere || flags & 3 == SnapshotFormat.SessionFlag.threadPosition else {
      throw DecodingFault(.unsupported, at: flagsOffset, "a session's flags are unknown")
    }
    outline.hasPlainSlots = flags & SnapshotFormat.SessionFlag.plainSlots != 0
    if flags & SnapshotFormat.SessionFlag.threadPosition != 0 {
      outline.threadPosition = try readPosition()
    }
    if isThere {
      outline.enqueued = outline.threadPosition
    } else if flags & SnapshotFormat.SessionFlag.enqueued != 0 {
      outline.enqueued = try readPosition()
    }
    return outline
  }

  private mutating func readKey() throws(DecodingFault) -> SessionID {
    let offset = texts.position
    let name = try readText(max: Limits.sessionIDBytesMax, "a session id")
    guard let key = SessionID(canonical: name) else {
      throw DecodingFault(.invalidValue, at: offset, "a session id that cannot be")
    }
    return key
  }

  private mutating func readMessage() throws(DecodingFault) -> SnapshotOutline.Message {
    typealias Form = SnapshotFormat.MessageForm
    let id = try identifiers.identifier(MessageID.self)
    let offset = numbers.position
    let form = try numbers.byte()
    guard form & Form.tags <= Form.explicitTags, form & Form.registers <= Form.explicitRegisters
    else { throw DecodingFault(.unsupported, at: offset, "a message's form is unknown") }
    let addition = try read(.element)
    let stamp = try readStamp()
    var message = SnapshotOutline.Message(
      id: id, form: form,
      first: SnapshotOutline.Addition(id: addition, stamp: stamp, form: .none, text: 0..<0),
      stamp: stamp)
    if form & Form.explicitPosition != 0 {
      message.deadSlotsBefore = Int(
        clamping: try numbers.number(max: Limits.sequenceMax, "dead slots before a message"))
      message.stamp = try readStamp()
    }
    if form & Form.tags == Form.explicitTags { message.explicitTags = try readTags() }
    if form & Form.registers == Form.explicitRegisters {
      message.explicitRegisters = try readRegisters()
    }
    try readText(form >> Form.textShift, of: &message.first, at: offset)
    if form & Form.severalAdditions != 0 {
      for _ in 0..<(try count("additions", ofAtLeast: 3)) {
        message.others.append(try readAddition())
      }
    }
    return message
  }

  private mutating func readAddition() throws(DecodingFault) -> SnapshotOutline.Addition {
    let id = try read(.element)
    let stamp = try readStamp()
    var addition = SnapshotOutline.Addition(id: id, stamp: stamp, form: .none, text: 0..<0)
    let offset = numbers.position
    try readText(try numbers.byte(), of: &addition, at: offset)
    return addition
  }

  private mutating func readText(
    _ rawForm: UInt8, of addition: inout SnapshotOutline.Addition, at offset: Int
  ) throws(DecodingFault) {
    guard let form = WorkspaceImage.Addition.Form(rawValue: rawForm) else {
      throw DecodingFault(.unsupported, at: offset, "a text's form is unknown")
    }
    addition.form = form
    guard form != .none else { return }
    let length = try numbers.count(max: texts.remaining, "bytes of a text")
    guard length > 0 || form == .explicit else {
      throw DecodingFault(.invalidValue, at: offset, "a text is empty")
    }
    let start = texts.position
    _ = try texts.raw(length)
    addition.text = start..<start + length
  }

  private mutating func readTags() throws(DecodingFault) -> [WorkspaceImage.Tags] {
    var fields: [WorkspaceImage.Tags] = []
    for _ in 0..<(try count("tag fields", ofAtLeast: 2)) {
      let field = TagField(rawValue: try numbers.byte())
      var tags: [WorkspaceImage.Tag] = []
      for _ in 0..<(try count("tags", ofAtLeast: 2)) {
        let id = try read(.tag)
        tags.append(
          WorkspaceImage.Tag(id: id, note: try readText(max: field.noteBytesMax, "a note")))
      }
      fields.append(WorkspaceImage.Tags(field: field, tags: tags))
    }
    try requireAscending(fields.map(\.field.rawValue), at: numbers.position, "tag fields")
    return fields
  }

  private mutating func readRegisters() throws(DecodingFault) -> [WorkspaceImage.Register] {
    var registers: [WorkspaceImage.Register] = []
    for _ in 0..<(try count("registers", ofAtLeast: 4)) {
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

  func requireEnd() throws(DecodingFault) {
    try numbers.requireEnd("a part's numbers")
    try identifiers.requireEnd("a part's identifiers")
    try texts.requireEnd("a part's texts")
    try runs.requireEnd("a part's runs")
  }
}
