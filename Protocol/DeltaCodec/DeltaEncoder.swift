import QueueModel
import SequenceCRDT

/// Writes rows; SPECIFICATION.md, section "Delta".
struct DeltaEncoder {
  private typealias Head = DeltaFormat.Head
  private typealias LocalID = DeltaFormat.LocalID

  private let table: ReplicaTable
  private let usesColumns: Bool
  private var streams: [ByteWriter]
  private var context: DeltaFormat.Context

  /// Visits the rows twice: to build the table of replicas, and to write.
  static func encode(_ rows: [DeltaRow]) -> EncodedBody {
    var encoder = DeltaEncoder(
      ReplicaTable(of: rows), usesColumns: rows.count > DeltaFormat.rowsInRowFormMax)
    for row in rows { encoder.write(row) }
    return encoder.finish()
  }

  private init(_ table: ReplicaTable, usesColumns: Bool) {
    self.table = table
    self.usesColumns = usesColumns
    streams = Array(repeating: ByteWriter(), count: usesColumns ? DeltaFormat.Column.count : 1)
    context = DeltaFormat.Context(bases: table.bases)
  }

  private subscript(column: DeltaFormat.Column) -> ByteWriter {
    _read { yield streams[usesColumns ? column.rawValue : 0] }
    _modify { yield &streams[usesColumns ? column.rawValue : 0] }
  }

  private func finish() -> EncodedBody {
    var writer = ByteWriter()
    table.write(to: &writer, usesColumns: usesColumns)
    guard usesColumns else {
      writer.raw(streams[0].bytes)
      return EncodedBody(bytes: writer.bytes, partEnds: [])
    }
    var partEnds: [Int] = []
    for column in DeltaFormat.Column.allCases where !self[column].isEmpty {
      writer.byte(UInt8(column.rawValue))
      writer.blob(self[column].bytes)
      partEnds.append(writer.bytes.count)
    }
    return EncodedBody(bytes: writer.bytes, partEnds: partEnds)
  }

  /// Writes the fields before the head of a row that takes `length` ids.
  private mutating func begin(_ id: OperationID, length: Int) -> LocalID {
    let id = table.local(id)
    if id.replica != context.author {
      self[.heads].byte(Head.switchReplica)
      self[.structure].count(id.replica)
      context.author = id.replica
    }
    let expected = context.nextSequences[id.replica]
    if id.seq != expected {
      self[.heads].byte(Head.skipSequence)
      self[.structure].signed(id.seq - expected)
    }
    context.nextSequences[id.replica] = id.seq + Int64(length)
    return id
  }
}

extension DeltaEncoder {
  private mutating func write(_ row: DeltaRow) {
    let id = begin(row.id, length: row.length)
    switch row.body {
    case .insertText(let insertion): write(insertion, of: row, id: id)
    case .deleteText(let deletion): write(deletion)
    default:
      writeTimeDifference(of: Operation(id: row.id, body: row.body))
      if !row.furtherTargets.isEmpty {
        self[.heads].byte(Head.repeatPlacement)
        self[.counts].count(row.furtherTargets.count - 1)
      }
      writeBody(of: row, id: id)
    }
  }

  /// Writes the difference between the time of the row's slots and their stamp, if it changed.
  private mutating func writeTimeDifference(of row: Operation) {
    guard let time = row.origins?.time, let stamp = row.stamp else { return }
    let difference = time &- stamp.milliseconds
    guard difference != context.timeDifference else { return }
    self[.heads].byte(Head.timeDifference)
    self[.times].signed(difference)
    context.timeDifference = difference
  }

  /// - Parameter row: has the text of the insertion.
  private mutating func write(_ insertion: Operation.InsertText, of row: DeltaRow, id: LocalID) {
    let place = plan(insertion.origins, .text)
    let message = table.local(insertion.message)
    let messageTag: UInt8 = message == context.message ? 0 : 1
    let lengthTag: UInt8 = row.length == 1 ? 0 : 1
    self[.heads].byte(Head.insertText | place.tags | messageTag << 4 | lengthTag << 5)
    if messageTag == 1 { writeContent(message) }
    write(place)
    if lengthTag == 1 { self[.counts].count(row.length - 2) }
    self[.texts].raw(row.text.utf8)
    inserted(place, upTo: id.seq + Int64(row.length) - 1)
  }

  private mutating func write(_ deletion: Operation.DeleteText) {
    let message = table.local(deletion.message)
    let first = table.local(deletion.first)
    let messageTag: UInt8 = message == context.message ? 0 : 1
    let countTag: UInt8 = deletion.count == 1 ? 0 : 1
    let backwards = deletion.backwards && deletion.count > 1
    let startsAtEnd = backwards || deletion.count == 1
    let target = LocalID(
      replica: first.replica, seq: startsAtEnd ? first.seq + Int64(deletion.count) - 1 : first.seq)
    let isFocus =
      target.replica == context.author && target.seq == context[.text, context.author]
    let targetTag: UInt8 = isFocus ? 0 : 1
    self[.heads].byte(
      Head.deleteText | messageTag | (backwards ? 2 : 0) | countTag << 2 | targetTag << 3)
    if messageTag == 1 { writeContent(message) }
    if targetTag == 1 { write(target, .text, to: .targets) }
    if countTag == 1 { self[.counts].count(deletion.count - 2) }
    context[.text, first.replica] = first.seq - 1
  }

  private mutating func writeBody(of row: DeltaRow, id: LocalID) {
    let last = id.seq + Int64(row.length) - 1
    switch row.body {
    case .announceDevice(let device, let name):
      self[.heads].byte(Head.announceDevice)
      self[.identifiers].identifier(device)
      write(name)
    case .openSession(let session, let clears):
      let tag = clears.isEmpty ? DeltaFormat.ClearsTag.none : DeltaFormat.ClearsTag.list
      self[.heads].byte(Head.openSession)
      self[.modes].byte(tag)
      write(session.rawValue)
      write(clears, tag: tag)
      context.session = id
    case .addMessage(let addition):
      write(addition, id: id)
    case .insertText, .deleteText:
      preconditionFailure("text comes by the other ways")
    case .placeMessage(let message, let session, let origins, let stamp):
      let place = plan(origins, .messageSlot)
      let session = table.local(session)
      let sessionTag: UInt8 = session == context.session ? 0 : 1
      let stampTag = self.stampTag(stamp)
      self[.heads].byte(Head.placeMessage | place.tags | sessionTag << 4 | stampTag << 5)
      if sessionTag == 1 { writeSession(session) }
      write(place)
      if stampTag == 1 { write(stamp) }
      for target in [message] + row.furtherTargets {
        write(table.local(target), .message, to: .messages)
      }
      inserted(place, upTo: last)
    case .placeThread(let session, let origins, let stamp):
      let place = plan(origins, .threadSlot)
      let stampTag = self.stampTag(stamp)
      self[.heads].byte(Head.placeThread | place.tags | stampTag << 4)
      write(place)
      if stampTag == 1 { write(stamp) }
      for target in [session] + row.furtherTargets { writeSession(table.local(target)) }
      inserted(place, upTo: last)
    case .enqueueThread(let enqueue):
      write(enqueue, id: id)
    case .addTag(let element, let field, let clears, let note):
      self[.heads].byte(Head.addTag)
      write(element: element, field: field, clears: clears, note: note)
    case .clearTags(let element, let field, let clears):
      self[.heads].byte(Head.clearTags)
      write(element: element, field: field, clears: clears, note: "")
    case .setRegister(let element, let field, let value, let stamp):
      write(element: element, field: field, value: value, stamp: stamp)
    }
  }
}

// Content
extension DeltaEncoder {
  private mutating func writeContent(_ message: LocalID) {
    write(message, .message, to: .messages)
    context.message = message
  }
}

// Queues
extension DeltaEncoder {
  private mutating func write(_ addition: Operation.AddMessage, id: LocalID) {
    let place = plan(addition.origins, .messageSlot)
    let session = table.local(addition.session)
    let sessionTag: UInt8 = session == context.session ? 0 : 1
    let stampTag = self.stampTag(addition.stamp)
    let clearsTag = clearsTag(
      addition.clears, neighbour: addition.origins.left, same: addition.session)
    self[.heads].byte(Head.addMessage | place.tags)
    self[.modes].byte(
      sessionTag | stampTag << 1 | clearsTag << 2 | addition.priority.rawValue << 4)
    self[.identifiers].identifier(addition.message)
    if sessionTag == 1 { writeSession(session) }
    write(place)
    if stampTag == 1 { write(addition.stamp) }
    write(addition.clears, tag: clearsTag)
    inserted(place, upTo: id.seq)
    context.message = id
  }

  private mutating func write(_ enqueue: Operation.EnqueueThread, id: LocalID) {
    let place = plan(enqueue.origins, .threadSlot)
    let session = table.local(enqueue.session)
    let sessionTag: UInt8 = session == context.session ? 0 : 1
    let stampTag = self.stampTag(enqueue.stamp)
    let queuedTag = clearsTag(
      enqueue.clearsQueued, neighbour: enqueue.origins.left, same: nil)
    var lockedTag = clearsTag(enqueue.clearsLocked, neighbour: nil, same: nil)
    if !enqueue.clearsLocked.isEmpty, enqueue.clearsLocked == enqueue.clearsQueued {
      lockedTag = DeltaFormat.ClearsTag.same
    }
    self[.heads].byte(Head.enqueueThread | place.tags | sessionTag << 4)
    self[.modes].byte(
      stampTag | (enqueue.locks ? 2 : 0) | queuedTag << 2 | lockedTag << 4)
    if sessionTag == 1 { writeSession(session) }
    write(place)
    if stampTag == 1 { write(enqueue.stamp) }
    write(enqueue.clearsQueued, tag: queuedTag)
    write(enqueue.clearsLocked, tag: lockedTag)
    inserted(place, upTo: id.seq)
  }

  private mutating func writeSession(_ session: LocalID) {
    write(session, .session, to: .sessions)
    context.session = session
  }
}

// Tags and registers
extension DeltaEncoder {
  private mutating func write(
    element: OperationID, field: TagField, clears: [OperationID], note: String
  ) {
    let elementTag = elementTag(element, isMessage: field == .live)
    let clearsTag = clearsTag(clears, neighbour: element, same: nil)
    let shortField = field.rawValue <= 15 ? field.rawValue : 0
    self[.modes].byte(
      clearsTag | elementTag << 2 | (note.isEmpty ? 0 : 8) | shortField << 4)
    if shortField == 0 { self[.modes].byte(field.rawValue) }
    write(element, tag: elementTag, isMessage: field == .live)
    write(clears, tag: clearsTag)
    if !note.isEmpty { write(note) }
  }

  private mutating func write(
    element: OperationID, field: RegisterField, value: RegisterValue, stamp: Stamp
  ) {
    let isMessage = field == .priority
    let elementTag = elementTag(element, isMessage: isMessage)
    let stampTag = self.stampTag(stamp)
    let shortField = field.rawValue <= 15 ? field.rawValue : 0
    var isText: UInt8 = 0
    if case .text = value { isText = 1 }
    self[.heads].byte(Head.setRegister)
    self[.modes].byte(elementTag | isText << 1 | stampTag << 2 | shortField << 4)
    if shortField == 0 { self[.modes].byte(field.rawValue) }
    write(element, tag: elementTag, isMessage: isMessage)
    if stampTag == 1 { write(stamp) }
    switch value {
    case .number(let number): self[.values].number(number)
    case .text(let text): write(text)
    }
  }

  private func elementTag(_ element: OperationID, isMessage: Bool) -> UInt8 {
    table.local(element) == (isMessage ? context.message : context.session) ? 0 : 1
  }

  private mutating func write(_ element: OperationID, tag: UInt8, isMessage: Bool) {
    guard tag == 1 else { return }
    if isMessage {
      writeContent(table.local(element))
    } else {
      writeSession(table.local(element))
    }
  }

  private func clearsTag(
    _ clears: [OperationID], neighbour: OperationID?, same: OperationID?
  ) -> UInt8 {
    guard let only = clears.first else { return DeltaFormat.ClearsTag.none }
    if clears.count == 1, only == neighbour { return DeltaFormat.ClearsTag.neighbour }
    if clears.count == 1, only == same { return DeltaFormat.ClearsTag.same }
    return DeltaFormat.ClearsTag.list
  }

  private mutating func write(_ clears: [OperationID], tag: UInt8) {
    guard tag == DeltaFormat.ClearsTag.list else { return }
    self[.clears].count(clears.count - 1)
    for id in clears { write(table.local(id), .tag, to: .clears) }
  }
}

// Fields
extension DeltaEncoder {
  /// The place at which a row inserts, with its tags.
  private struct Place {
    var focus: DeltaFormat.Focus
    var left: LocalID?
    var right: LocalID?
    var leftTag: UInt8
    var rightTag: UInt8

    var tags: UInt8 { leftTag | rightTag << 2 }
  }

  private func plan(_ origins: Operation.Origins, _ focus: DeltaFormat.Focus) -> Place {
    let left = origins.left.map(table.local)
    let right = origins.right.map(table.local)
    let focused = LocalID(replica: context.author, seq: context[focus, context.author])
    let leftTag =
      left == nil
      ? DeltaFormat.LeftTag.start
      : left == focused ? DeltaFormat.LeftTag.focus : DeltaFormat.LeftTag.explicit
    let rightTag: UInt8
    if right == nil {
      rightTag = DeltaFormat.RightTag.end
    } else if let left, right == LocalID(replica: left.replica, seq: left.seq + 1) {
      rightTag = DeltaFormat.RightTag.besideLeft
    } else if let left, let right, right.replica == left.replica, right.seq > left.seq {
      rightTag = DeltaFormat.RightTag.ahead
    } else {
      rightTag = DeltaFormat.RightTag.explicit
    }
    return Place(focus: focus, left: left, right: right, leftTag: leftTag, rightTag: rightTag)
  }

  private mutating func write(_ place: Place) {
    if place.leftTag == DeltaFormat.LeftTag.explicit, let left = place.left {
      write(left, place.focus, to: .lefts)
    }
    guard let right = place.right else { return }
    var base = context[place.focus, right.replica]
    if let left = place.left, left.replica == right.replica { base = left.seq }
    if place.rightTag == DeltaFormat.RightTag.ahead {
      self[.rights].number(UInt64(right.seq - base - 2))
    } else if place.rightTag == DeltaFormat.RightTag.explicit {
      write(right, base: base, to: .rights)
    }
  }

  private mutating func inserted(_ place: Place, upTo last: Int64) {
    context[place.focus, context.author] = last
  }

  private mutating func write(
    _ id: LocalID, _ focus: DeltaFormat.Focus, to column: DeltaFormat.Column
  ) {
    write(id, base: context[focus, id.replica], to: column)
    context[focus, id.replica] = id.seq
  }

  private mutating func write(_ id: LocalID, base: Int64, to column: DeltaFormat.Column) {
    let distance = ByteWriter.zigzag(id.seq - base)
    if table.replicas.count == 1 {
      self[column].number(distance)
    } else if id.replica == context.author {
      self[column].number(distance << 1)
    } else {
      self[column].number(distance << 1 | 1)
      self[column].count(id.replica)
    }
  }

  private func stampTag(_ stamp: Stamp) -> UInt8 {
    stamp.milliseconds == context.milliseconds && stamp.counter == context.counter ? 0 : 1
  }

  private mutating func write(_ stamp: Stamp) {
    let hasCounter: UInt64 = stamp.counter == 0 ? 0 : 1
    let sinceEpoch = stamp.milliseconds - DeltaFormat.epochMilliseconds
    var writesCounter = hasCounter == 1
    if let previous = context.milliseconds {
      let distance = ByteWriter.zigzag(stamp.milliseconds - previous)
      self[.times].number(distance << 1 | hasCounter)
    } else if sinceEpoch >= 0, UInt64(sinceEpoch) < DeltaFormat.longStamp >> 1 {
      self[.times].fixed(UInt64(sinceEpoch) << 1 | hasCounter, bytes: 5)
    } else {
      self[.times].fixed(DeltaFormat.longStamp, bytes: 5)
      self[.times].fixed(stamp.rawValue)
      writesCounter = false
    }
    if writesCounter { self[.counters].number(UInt64(stamp.counter)) }
    context.milliseconds = stamp.milliseconds
    context.counter = stamp.counter
  }

  private mutating func write(_ text: String) {
    self[.values].count(text.utf8.count)
    self[.strings].raw(text.utf8)
  }
}
