import QueueModel
import SequenceCRDT

/// Reads one group. Counts are held against the bytes that follow before anything is reserved.
struct UndoDecoder {
  private var reader: ByteReader
  private var replicas: [ReplicaID] = []

  init(_ bytes: [UInt8]) {
    reader = ByteReader(bytes)
  }

  mutating func readGroup() throws(DecodingFault) -> UndoGroup {
    guard try reader.byte() == UndoCodec.layout else {
      throw DecodingFault(.unsupported, at: 0, "the layout of a change to undo is unknown")
    }
    try readReplicas()
    let label = try readLabel()
    var group = UndoGroup(label: label, milliseconds: try reader.signed())
    let offset = reader.position
    let lists = UndoCodec.Lists(rawValue: try reader.byte())
    guard lists.isSubset(of: .all) else {
      throw DecodingFault(.unsupported, at: offset, "a list of a change to undo is unknown")
    }
    if lists.contains(.tags) {
      group.tags = try list(ofAtLeast: 7) { decoder throws(DecodingFault) in
        try decoder.readTagStep()
      }
    }
    if lists.contains(.registers) {
      group.registers = try list(ofAtLeast: 7) { decoder throws(DecodingFault) in
        try decoder.readRegisterStep()
      }
    }
    if lists.contains(.messagePlaces) {
      group.messagePlaces = try list(ofAtLeast: 23) { decoder throws(DecodingFault) in
        try decoder.readPlace { decoder throws(DecodingFault) in
          try decoder.reader.identifier(MessageID.self)
        }
      }
    }
    if lists.contains(.threadPlaces) {
      group.threadPlaces = try list(ofAtLeast: 9) { decoder throws(DecodingFault) in
        try decoder.readPlace { decoder throws(DecodingFault) in try decoder.readSession() }
      }
    }
    if lists.contains(.queuedAt) {
      group.queuedAt = try list(ofAtLeast: 7) { decoder throws(DecodingFault) in
        try decoder.readQueuedAt()
      }
    }
    if lists.contains(.texts) {
      group.texts = try list(ofAtLeast: 20) { decoder throws(DecodingFault) in
        try decoder.readText()
      }
    }
    if lists.contains(.replacements) {
      group.replacements = try list(ofAtLeast: 5) { decoder throws(DecodingFault) in
        try decoder.readReplacement()
      }
    }
    try reader.requireEnd("a change to undo")
    return group
  }

  private mutating func readReplicas() throws(DecodingFault) {
    let count = try reader.count(
      ofAtLeast: 8, max: DecodingBudget.standard.replicasMax, "replicas")
    for _ in 0..<count {
      let offset = reader.position
      let replica = ReplicaID(rawValue: try reader.fixed())
      guard replica.rawValue != 0 else { throw invalid(at: offset, "0 names no replica") }
      replicas.append(replica)
    }
  }

  private mutating func readLabel() throws(DecodingFault) -> UndoLabel {
    let offset = reader.position
    let kind = try reader.number()
    guard kind < UndoCodec.kinds.count else {
      throw DecodingFault(.unsupported, at: offset, "the kind of a change is unknown")
    }
    let count = try reader.count(max: Int(Int32.max), "items of a change")
    return UndoLabel(
      kind: UndoCodec.kinds[Int(kind)],
      session: try optional { decoder throws(DecodingFault) in try decoder.readSession() },
      message: try optional { decoder throws(DecodingFault) in
        try decoder.reader.identifier(MessageID.self)
      }, count: count)
  }

  private mutating func readTagStep() throws(DecodingFault) -> UndoGroup.TagStep {
    let element = try readElement()
    let field = TagField(rawValue: try reader.byte())
    let isOvertaken = try readFlag()
    return UndoGroup.TagStep(
      of: element, field: field,
      put: try list(ofAtLeast: 2) { decoder throws(DecodingFault) in try decoder.readID() },
      cleared: try list(ofAtLeast: 2) { decoder throws(DecodingFault) in try decoder.readID() },
      restored: try optional { decoder throws(DecodingFault) in
        try decoder.list(ofAtLeast: 1) { decoder throws(DecodingFault) in
          try decoder.readString("a note")
        }
      },
      isOvertaken: isOvertaken)
  }

  private mutating func readReplacement() throws(DecodingFault) -> UndoGroup.TagReplacement {
    UndoGroup.TagReplacement(
      of: TagField(rawValue: try reader.byte()), old: try readID(), new: try readID())
  }

  private mutating func readRegisterStep() throws(DecodingFault) -> UndoGroup.RegisterStep {
    let element = try readElement()
    let field = RegisterField(rawValue: try reader.byte())
    let offset = reader.position
    let before: RegisterValue?
    switch try reader.byte() {
    case 0: before = nil
    case 1: before = .number(try reader.number())
    case 2: before = .text(try readString("a register's text"))
    default: throw DecodingFault(.unsupported, at: offset, "a register's value is unknown here")
    }
    return UndoGroup.RegisterStep(
      of: element, field: field, before: before, beforeWriter: try readOptionalID(),
      writer: try readID())
  }

  private mutating func readPlace<Key>(
    _ key: (inout UndoDecoder) throws(DecodingFault) -> Key
  ) throws(DecodingFault) -> UndoGroup.PlaceStep<Key> {
    UndoGroup.PlaceStep(
      of: try key(&self),
      session: try optional { decoder throws(DecodingFault) in try decoder.readSession() },
      slot: try readID(),
      left: try optional(key), right: try optional(key), writer: try readID())
  }

  private mutating func readQueuedAt() throws(DecodingFault) -> UndoGroup.QueuedAtStep {
    UndoGroup.QueuedAtStep(
      of: try readSession(), before: try reader.signed(),
      beforeWriter: try readID(), writer: try readID())
  }

  private mutating func readText() throws(DecodingFault) -> UndoGroup.TextStep {
    UndoGroup.TextStep(
      of: try reader.identifier(MessageID.self), content: try readID(),
      inserted: try list(ofAtLeast: 3) { decoder throws(DecodingFault) in try decoder.readRange() },
      deleted: try list(ofAtLeast: 6) { decoder throws(DecodingFault) in
        try decoder.readDeletedText()
      })
  }

  private mutating func readDeletedText() throws(DecodingFault) -> UndoGroup.DeletedText {
    UndoGroup.DeletedText(
      of: try readRange(), text: try readString("deleted text"), left: try readOptionalID(),
      right: try readOptionalID())
  }

  // MARK: - Fields

  private mutating func readElement() throws(DecodingFault) -> ElementName {
    try readFlag() ? .message(try reader.identifier(MessageID.self)) : .session(try readSession())
  }

  private mutating func readSession() throws(DecodingFault) -> SessionID {
    let offset = reader.position
    let name = try reader.text(max: Limits.sessionIDBytesMax, "a session id")
    guard let key = SessionID(canonical: name) else {
      throw invalid(at: offset, "a session id that cannot be")
    }
    return key
  }

  private mutating func readString(
    _ what: @autoclosure () -> String
  ) throws(DecodingFault) -> String {
    try reader.text(max: reader.remaining, what())
  }

  private mutating func readID() throws(DecodingFault) -> OperationID {
    let offset = reader.position
    guard let id = try readOptionalID() else {
      throw invalid(at: offset, "an operation is missing")
    }
    return id
  }

  private mutating func readOptionalID() throws(DecodingFault) -> OperationID? {
    let offset = reader.position
    let number = try reader.count(max: replicas.count, "the number of a replica")
    guard number > 0 else { return nil }
    guard let seq = UInt32(exactly: try reader.number()), seq >= 1 else {
      throw invalid(at: offset, "a sequence number that cannot be")
    }
    return OperationID(replica: replicas[number - 1], seq: seq)
  }

  private mutating func readRange() throws(DecodingFault) -> OperationRange {
    let first = try readID()
    let offset = reader.position
    let further = try reader.number(max: UInt32.max, "ids of a range")
    let (last, overflow) = first.seq.addingReportingOverflow(further)
    guard !overflow else {
      throw invalid(at: offset, "a range of ids ends past the last one")
    }
    return OperationRange(replica: first.replica, first: first.seq, last: last)
  }

  private mutating func readFlag() throws(DecodingFault) -> Bool {
    let offset = reader.position
    let byte = try reader.byte()
    guard byte <= 1 else { throw invalid(at: offset, "\(byte) is neither yes nor no") }
    return byte == 1
  }

  private mutating func list<Step>(
    ofAtLeast bytesEach: Int, _ read: (inout UndoDecoder) throws(DecodingFault) -> Step
  ) throws(DecodingFault) -> [Step] {
    let count = try reader.count(ofAtLeast: bytesEach, max: .max, "steps of a change to undo")
    var steps: [Step] = []
    steps.reserveCapacity(count)
    for _ in 0..<count { steps.append(try read(&self)) }
    return steps
  }

  private mutating func optional<Value>(
    _ read: (inout UndoDecoder) throws(DecodingFault) -> Value
  ) throws(DecodingFault) -> Value? {
    try readFlag() ? try read(&self) : nil
  }

  private func invalid(at offset: Int, _ message: String) -> DecodingFault {
    DecodingFault(.invalidValue, at: offset, message)
  }
}
