import QueueModel
import SequenceCRDT

// Content
extension DeltaDecoder {
  mutating func readInsertText(_ head: UInt8) throws(DecodingFault) {
    let message = try readContent(isExplicit: head & 0x10 != 0)
    let origins = try readOrigins(head, .text)
    var length = 1
    if head & 0x20 != 0 {
      length = try source[.counts].count(max: Limits.contentBytesMax, "scalars") + 2
    }
    try reserve(length, ofText: true)
    let text = try source[.texts].scalars(
      length, bytesMax: Limits.contentBytesMax, "inserted text")
    inserted(.text, length)
    append(
      .insertText(
        Operation.InsertText(message: global(message), origins: global(origins), text: text)),
      length: length)
  }

  mutating func readDeleteText(_ head: UInt8, offset: Int) throws(DecodingFault) {
    guard head & 0x10 == 0 else {
      throw DecodingFault(.unsupported, at: offset, "row kind \(head) is unknown here: update")
    }
    let message = try readContent(isExplicit: head & 1 != 0)
    let backwards = head & 2 != 0
    let target =
      head & 8 != 0
      ? try readReference(.text, .targets)
      : LocalID(replica: context.author, seq: context[.text, context.author])
    var count = 1
    if head & 4 != 0 {
      count = try readRepetitions("deletions")
    } else if backwards {
      throw DecodingFault(.invalidValue, at: offset, "a single deletion has no direction")
    }
    try reserve(count, ofText: true)
    let first = backwards ? target.seq - Int64(count) + 1 : target.seq
    guard first >= 1, first + Int64(count) - 1 <= DeltaFormat.sequenceMax else {
      throw DecodingFault(.invalidValue, at: offset, "deletes what cannot exist")
    }
    context[.text, target.replica] = first - 1
    append(
      .deleteText(
        Operation.DeleteText(
          message: global(message), first: global(LocalID(replica: target.replica, seq: first)),
          count: count, backwards: backwards)),
      length: count)
  }

  mutating func readContent(isExplicit: Bool) throws(DecodingFault) -> LocalID {
    if isExplicit {
      let message = try readReference(.message, .messages)
      context.message = message
      return message
    }
    guard let message = context.message else {
      throw invalid(.heads, "a row speaks of the last message, and there was none")
    }
    return message
  }
}

// Queues
extension DeltaDecoder {
  mutating func readAddMessage(_ head: UInt8) throws(DecodingFault) {
    let mode = try source[.modes].byte()
    guard let priority = Priority(rawValue: mode >> 4) else {
      throw invalid(.modes, "priority \(mode >> 4) is unknown")
    }
    let message = try source[.identifiers].identifier(MessageID.self)
    let session = try readSession(isExplicit: mode & 1 != 0)
    let origins = try readOrigins(head, .messageSlot)
    let stamp = try readStamp(isExplicit: mode & 2 != 0)
    let time = try time(ofSlotAt: stamp)
    let clears = try readClears(
      mode >> 2 & 3, neighbour: origins.left, same: [global(session)])
    try reserve(1)
    context.message = LocalID(
      replica: context.author, seq: context.nextSequences[context.author])
    inserted(.messageSlot, 1)
    append(
      .addMessage(
        Operation.AddMessage(
          message: message, session: global(session), origins: global(origins, time: time),
          stamp: stamp, priority: priority, clears: clears)))
  }

  mutating func readEnqueueThread(_ head: UInt8) throws(DecodingFault) {
    let mode = try source[.modes].byte()
    guard mode & 0xC0 == 0 else { throw invalid(.modes, "an enqueueing's mode is \(mode)") }
    let session = try readSession(isExplicit: head & 0x10 != 0)
    let origins = try readOrigins(head, .threadSlot)
    let stamp = try readStamp(isExplicit: mode & 1 != 0)
    let time = try time(ofSlotAt: stamp)
    let queued = try readClears(mode >> 2 & 3, neighbour: origins.left, same: nil)
    let locked = try readClears(
      mode >> 4 & 3, neighbour: nil, same: queued.isEmpty ? nil : queued)
    try reserve(1)
    inserted(.threadSlot, 1)
    append(
      .enqueueThread(
        Operation.EnqueueThread(
          session: global(session), origins: global(origins, time: time), stamp: stamp,
          clearsQueued: queued, locks: mode & 2 != 0, clearsLocked: locked)))
  }

  mutating func readPlacements(
    _ head: UInt8, repeats: Int, focus: DeltaFormat.Focus
  ) throws(DecodingFault) {
    let isMessage = focus == .messageSlot
    let session = isMessage ? try readSession(isExplicit: head & 0x10 != 0) : nil
    var origins = global(try readOrigins(head, focus))
    let stamp = try readStamp(isExplicit: head & (isMessage ? 0x20 : 0x10) != 0)
    origins.time = try time(ofSlotAt: stamp)
    try reserve(repeats)
    for _ in 0..<repeats {
      let target = global(try readTarget(isMessage: isMessage))
      let slot = append(
        session.map {
          .placeMessage(message: target, session: global($0), origins: origins, stamp: stamp)
        } ?? .placeThread(session: target, origins: origins, stamp: stamp))
      origins.left = slot
    }
    context[focus, context.author] = context.nextSequences[context.author] - 1
  }

  private mutating func readTarget(isMessage: Bool) throws(DecodingFault) -> LocalID {
    isMessage ? try readReference(.message, .messages) : try readSession(isExplicit: true)
  }

  mutating func readSession(isExplicit: Bool) throws(DecodingFault) -> LocalID {
    if isExplicit { context.session = try readReference(.session, .sessions) }
    return context.session
  }
}

// Tags and registers
extension DeltaDecoder {
  mutating func readTags(puts: Bool) throws(DecodingFault) {
    let mode = try source[.modes].byte()
    let field = TagField(rawValue: try readField(mode))
    let element = try readElement(isExplicit: mode & 4 != 0, isMessage: field == .live)
    let clears = try readClears(mode & 3, neighbour: element, same: nil)
    var note = ""
    if mode & 8 != 0 {
      note = try readText(max: field.noteBytesMax, "a note")
      guard puts, !note.isEmpty else { throw invalid(.modes, "a note that cannot be") }
    }
    try reserve(1)
    append(
      puts
        ? .addTag(element: global(element), field: field, clears: clears, note: note)
        : .clearTags(element: global(element), field: field, clears: clears))
  }

  mutating func readRegister() throws(DecodingFault) {
    let mode = try source[.modes].byte()
    guard mode & 8 == 0 else { throw invalid(.modes, "a register's mode is \(mode)") }
    let field = RegisterField(rawValue: try readField(mode))
    let element = try readElement(isExplicit: mode & 1 != 0, isMessage: field == .priority)
    let stamp = try readStamp(isExplicit: mode & 4 != 0)
    let value: RegisterValue =
      mode & 2 != 0
      ? .text(try readName("a register's text")) : .number(try source[.values].number())
    try reserve(1)
    append(
      .setRegister(element: global(element), field: field, value: value, stamp: stamp))
  }

  private mutating func readField(_ mode: UInt8) throws(DecodingFault) -> UInt8 {
    guard mode >> 4 == 0 else { return mode >> 4 }
    let field = try source[.modes].byte()
    guard field == 0 || field > 15 else {
      throw invalid(.modes, "field \(field) is not in its shortest form")
    }
    return field
  }

  private mutating func readElement(
    isExplicit: Bool, isMessage: Bool
  ) throws(DecodingFault) -> LocalID {
    isMessage
      ? try readContent(isExplicit: isExplicit) : try readSession(isExplicit: isExplicit)
  }

  mutating func readClears(
    _ tag: UInt8, neighbour: LocalID?, same: [OperationID]?
  ) throws(DecodingFault) -> [OperationID] {
    switch tag {
    case DeltaFormat.ClearsTag.none:
      return []
    case DeltaFormat.ClearsTag.neighbour:
      guard let neighbour else { throw invalid(.modes, "clears a neighbour that is not there") }
      return [global(neighbour)]
    case DeltaFormat.ClearsTag.same:
      guard let same else { throw invalid(.modes, "clears the same, but nothing was named") }
      return same
    default:
      let count =
        try source[.clears].count(
          ofAtLeast: 1, max: Limits.clearedTagsMax - 1, "cleared tags less one") + 1
      try take(count)
      var clears: [OperationID] = []
      clears.reserveCapacity(count)
      for _ in 0..<count { clears.append(global(try readReference(.tag, .clears))) }
      return clears
    }
  }
}

// Fields
extension DeltaDecoder {
  struct LocalOrigins {
    var left: LocalID?
    var right: LocalID?
  }

  @inline(__always)
  func global(_ origins: LocalOrigins, time: Int64 = 0) -> Operation.Origins {
    Operation.Origins(
      left: origins.left.map { global($0) }, right: origins.right.map { global($0) }, time: time)
  }

  mutating func readOrigins(
    _ head: UInt8, _ focus: DeltaFormat.Focus
  ) throws(DecodingFault) -> LocalOrigins {
    let left: LocalID?
    switch head & 3 {
    case DeltaFormat.LeftTag.focus:
      let focused = context[focus, context.author]
      guard focused >= 1 else { throw invalid(.heads, "a left origin before the first id") }
      left = LocalID(replica: context.author, seq: focused)
    case DeltaFormat.LeftTag.start:
      left = nil
    case DeltaFormat.LeftTag.explicit:
      left = try readReference(focus, .lefts)
    default:
      throw DecodingFault(
        .unsupported, at: source.offset(.heads), "left origin tag 3 is unknown here: update")
    }
    switch head >> 2 & 3 {
    case DeltaFormat.RightTag.end:
      return LocalOrigins(left: left, right: nil)
    case DeltaFormat.RightTag.besideLeft:
      guard let left, left.seq < DeltaFormat.sequenceMax else {
        throw invalid(.heads, "a right origin beside no left one")
      }
      return LocalOrigins(
        left: left, right: LocalID(replica: left.replica, seq: left.seq + 1))
    case DeltaFormat.RightTag.ahead:
      guard let left else { throw invalid(.heads, "a right origin ahead of no left one") }
      let distance =
        Int64(
          try source[.rights].number(max: Limits.sequenceMax, "a right origin's distance")) + 2
      guard distance <= DeltaFormat.sequenceMax - left.seq else {
        throw invalid(.rights, "a right origin that cannot exist")
      }
      return LocalOrigins(
        left: left, right: LocalID(replica: left.replica, seq: left.seq + distance))
    default:
      return LocalOrigins(
        left: left, right: try readReference(focus, .rights, beside: left))
    }
  }

  mutating func inserted(_ focus: DeltaFormat.Focus, _ length: Int) {
    context[focus, context.author] = context.nextSequences[context.author] + Int64(length) - 1
  }

  mutating func readReference(
    _ focus: DeltaFormat.Focus, _ column: DeltaFormat.Column
  ) throws(DecodingFault) -> LocalID {
    let id = try readReference(focus, column, beside: nil)
    context[focus, id.replica] = id.seq
    return id
  }

  /// Reads an id counted from `neighbour` if it has the same replica, else from the focus.
  private mutating func readReference(
    _ focus: DeltaFormat.Focus, _ column: DeltaFormat.Column, beside neighbour: LocalID?
  ) throws(DecodingFault) -> LocalID {
    let offset = source.offset(column)
    var value = try source[column].number()
    var replica = context.author
    if replicas.count > 1 {
      if value & 1 == 1 {
        replica = try source[column].index(below: replicas.count, "replica")
        guard replica != context.author else {
          throw DecodingFault(.invalidValue, at: offset, "a reference names its author as another")
        }
      }
      value >>= 1
    }
    var base = context[focus, replica]
    if let neighbour, neighbour.replica == replica { base = neighbour.seq }
    let (seq, overflow) = base.addingReportingOverflow(ByteReader.unzigzag(value))
    guard !overflow, seq >= 1, seq <= DeltaFormat.sequenceMax else {
      throw DecodingFault(.invalidValue, at: offset, "a reference to what cannot exist")
    }
    return LocalID(replica: replica, seq: seq)
  }

  /// The time at which a slot was made, for a row with a stamp.
  private mutating func time(ofSlotAt stamp: Stamp) throws(DecodingFault) -> Int64 {
    let (time, overflow) = stamp.milliseconds.addingReportingOverflow(context.timeDifference)
    guard !overflow, Operation.timesOfSlots.contains(time) else {
      throw invalid(.times, "no clock shows the time of a slot")
    }
    return time
  }

  mutating func readStamp(isExplicit: Bool) throws(DecodingFault) -> Stamp {
    guard isExplicit else {
      guard let milliseconds = context.milliseconds else {
        throw invalid(.heads, "the last stamp is meant, and there was none")
      }
      return Stamp(milliseconds: milliseconds, counter: context.counter)
    }
    let stamp = try readExplicitStamp()
    context.milliseconds = stamp.milliseconds
    context.counter = stamp.counter
    return stamp
  }

  private mutating func readExplicitStamp() throws(DecodingFault) -> Stamp {
    let offset = source.offset(.times)
    var milliseconds: Int64
    var value: UInt64
    if let previous = context.milliseconds {
      value = try source[.times].number()
      let (sum, overflow) = previous.addingReportingOverflow(
        ByteReader.unzigzag(value >> 1))
      guard !overflow else { throw DecodingFault(.invalidValue, at: offset, "no such time") }
      milliseconds = sum
    } else {
      value = try source[.times].fixed(bytes: 5)
      if value == DeltaFormat.longStamp {
        return Stamp(rawValue: try source[.times].fixed())
      }
      milliseconds = DeltaFormat.epochMilliseconds + Int64(value >> 1)
    }
    guard milliseconds >= 0, milliseconds <= Stamp.millisecondsMax else {
      throw DecodingFault(.invalidValue, at: offset, "no stamp holds that time")
    }
    guard value & 1 == 1 else { return Stamp(milliseconds: milliseconds) }
    let counter = try source[.counters].number(max: UInt16.max, "a stamp's counter")
    guard counter > 0 else {
      throw DecodingFault(.invalidValue, at: offset, "a stamp's counter is present and 0")
    }
    return Stamp(milliseconds: milliseconds, counter: counter)
  }

  mutating func readName(_ what: String) throws(DecodingFault) -> String {
    try readText(max: Limits.nameBytesMax, what)
  }

  mutating func readText(max: Int, _ what: String) throws(DecodingFault) -> String {
    let count = try source[.values].count(max: max, what)
    return try source[.strings].utf8(bytes: count, what)
  }
}
