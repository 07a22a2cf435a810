import QueueModel
import SequenceCRDT

/// Writes one part of a snapshot: the workspace's own, or a session's.
struct SnapshotPartEncoder {
  private var numbers = ByteWriter()
  private var runs = ByteWriter()
  private var identifiers = ByteWriter()
  private var texts = ByteWriter()
  /// The part's own table, in the order of first occurrence in the part.
  private var replicas: [ReplicaID] = []
  private var indexes: [ReplicaID: Int] = [:]
  private var context = SnapshotFormat.Context()

  /// The workspace's part: the known replicas, and the slots of the thread queue.
  static func encode(
    _ replicas: [WorkspaceImage.Replica], threadSlots: [WorkspaceImage.SlotRun]
  ) -> EncodedPart {
    var encoder = SnapshotPartEncoder()
    encoder.write(replicas)
    encoder.writeSlots(threadSlots)
    return encoder.part
  }

  /// - Precondition: the messages are at slots of the session, in their order.
  static func encode(_ whole: SessionToWrite) -> EncodedPart {
    var encoder = SnapshotPartEncoder()
    encoder.write(whole)
    return encoder.part
  }

  private var part: EncodedPart {
    var numbersWithTable = ByteWriter()
    var identifiersWithTable = ByteWriter()
    numbersWithTable.count(replicas.count)
    for replica in replicas { identifiersWithTable.fixed(replica.rawValue) }
    return EncodedPart(
      numbers: numbersWithTable.bytes + numbers.bytes, runs: runs.bytes,
      identifiers: identifiersWithTable.bytes + identifiers.bytes, texts: texts.bytes)
  }

  /// Each device and name is written once, for any number of replicas that announced them.
  private mutating func write(_ list: [WorkspaceImage.Replica]) {
    struct Device: Hashable {
      var id: DeviceID
      // As UTF-8, because canonically equivalent names are different names.
      var name: [UInt8]
    }
    var known: [Device: Int] = [:]
    var devices: [Device] = []
    let places = list.map { replica -> Int in
      guard let announcement = replica.announcement else { return 0 }
      let device = Device(id: announcement.device, name: Array(announcement.name.utf8))
      if let place = known[device] { return place }
      devices.append(device)
      known[device] = devices.count
      return devices.count
    }
    numbers.count(devices.count)
    for device in devices {
      identifiers.identifier(device.id)
      numbers.count(device.name.count)
      texts.raw(device.name)
    }
    numbers.count(list.count)
    for (replica, place) in zip(list, places) {
      identifiers.fixed(replica.id.rawValue)
      numbers.number(UInt64(replica.seq))
      numbers.count(place)
      if let announcement = replica.announcement { numbers.number(UInt64(announcement.seq)) }
    }
  }

  private mutating func write(_ whole: SessionToWrite) {
    let session = whole.session
    write(session.key.rawValue)
    numbers.count(session.references.count)
    for reference in session.references { write(reference, .element) }
    write(session.tags)
    write(session.registers)
    let isPlain = whole.hasPlainSlots
    let isThere = session.enqueued != nil && session.enqueued == session.threadPosition
    var flags: UInt8 = isPlain ? SnapshotFormat.SessionFlag.plainSlots : 0
    if session.threadPosition != nil { flags |= SnapshotFormat.SessionFlag.threadPosition }
    if isThere {
      flags |= SnapshotFormat.SessionFlag.enqueuedThere
    } else if session.enqueued != nil {
      flags |= SnapshotFormat.SessionFlag.enqueued
    }
    numbers.byte(flags)
    if let position = session.threadPosition { write(position) }
    if !isThere, let enqueued = session.enqueued { write(enqueued) }
    numbers.count(whole.places.count)
    var isExplicit = [Bool](repeating: false, count: whole.places.count)
    for (index, gap) in whole.deadSlotsBeforeMessages.enumerated() {
      let message = whole.message(index)
      write(message, deadSlotsBefore: gap)
      isExplicit[index] = message.additions.contains { $0.form == .explicit }
    }
    if !isPlain { writeSlots(session.slots) }
    for index in isExplicit.indices where isExplicit[index] {
      for addition in whole.message(index).additions where addition.form == .explicit {
        context.expect(.slot, self.index(of: addition.id.replica), Int64(addition.id.seq) + 1)
        writeRuns(addition.runs.map(\.slots), visible: addition.runs.map(\.isVisible))
      }
    }
  }

  private mutating func write(_ message: WorkspaceImage.Message, deadSlotsBefore gap: Int) {
    guard let first = message.additions.first else {
      preconditionFailure("a message has an addition")
    }
    identifiers.identifier(message.id)
    let form = message.form(deadSlotsBefore: gap)
    numbers.byte(form)
    write(first.id, .element)
    write(first.stamp)
    if form & SnapshotFormat.MessageForm.explicitPosition != 0 {
      numbers.count(gap)
      write(message.position.stamp)
    }
    if form & SnapshotFormat.MessageForm.tags == SnapshotFormat.MessageForm.explicitTags {
      write(message.tags)
    }
    if form & SnapshotFormat.MessageForm.registers
      == SnapshotFormat.MessageForm.explicitRegisters
    {
      write(message.registers)
    }
    writeText(of: first)
    guard form & SnapshotFormat.MessageForm.severalAdditions != 0 else { return }
    numbers.count(message.additions.count - 1)
    for addition in message.additions.dropFirst() {
      write(addition.id, .element)
      write(addition.stamp)
      numbers.byte(addition.form.rawValue)
      writeText(of: addition)
    }
  }

  private mutating func writeText(of addition: WorkspaceImage.Addition) {
    if addition.form != .none { write(addition.text) }
  }

  private mutating func write(_ fields: [WorkspaceImage.Tags]) {
    numbers.count(fields.count)
    for field in fields {
      numbers.byte(field.field.rawValue)
      numbers.count(field.tags.count)
      for tag in field.tags {
        write(tag.id, .tag)
        write(tag.note)
      }
    }
  }

  private mutating func write(_ registers: [WorkspaceImage.Register]) {
    numbers.count(registers.count)
    for register in registers {
      numbers.byte(register.field.rawValue)
      switch register.value {
      case .number(let number):
        numbers.byte(0)
        numbers.number(number)
      case .text(let text):
        numbers.byte(1)
        write(text)
      }
      write(register.stamp)
      write(register.writer, .writer)
    }
  }

  private mutating func write(_ position: WorkspaceImage.Position) {
    write(position.stamp)
    write(position.slot, .writer)
  }

  private mutating func write(_ stamp: Stamp) {
    let distance = ByteWriter.zigzag(stamp.milliseconds - context.milliseconds)
    numbers.number(distance << 1 | (stamp.counter == 0 ? 0 : 1))
    if stamp.counter != 0 { numbers.number(UInt64(stamp.counter)) }
    context.milliseconds = stamp.milliseconds
  }

  private mutating func write(_ text: String) {
    numbers.count(text.utf8.count)
    texts.raw(text.utf8)
  }
}

// Runs and references
extension SnapshotPartEncoder {
  /// The slots of a queue, then their times.
  private mutating func writeSlots(_ list: [WorkspaceImage.SlotRun]) {
    writeRuns(list, visible: nil)
    var last = context.milliseconds
    for run in list {
      runs.signed(run.origins.time &- last)
      last = run.origins.time
    }
  }

  private mutating func writeRuns(_ list: [WorkspaceImage.SlotRun], visible: [Bool]?) {
    runs.count(list.count)
    for run in list { runs.count(run.length) }
    for run in list {
      writeUnit(run.id, .slot)
      context.expect(.slot, index(of: run.id.replica), Int64(run.id.seq) + Int64(run.length))
    }
    let shapes = list.indices.map { shape(of: list[$0], at: $0, in: list) }
    for (index, shape) in shapes.enumerated() {
      runs.byte(visible?[index] == true ? shape | SnapshotFormat.visible : shape)
    }
    for (run, shape) in zip(list, shapes) {
      if shape & 3 == SnapshotFormat.LeftTag.explicit, let left = run.origins.left {
        writeUnit(left, .origin)
      }
      if shape >> 2 == SnapshotFormat.RightTag.explicit, let right = run.origins.right {
        writeUnit(right, .origin)
      }
    }
  }

  private func shape(
    of run: WorkspaceImage.SlotRun, at index: Int, in runs: [WorkspaceImage.SlotRun]
  ) -> UInt8 {
    var shape = SnapshotFormat.LeftTag.explicit
    if run.origins.left == nil {
      shape = SnapshotFormat.LeftTag.start
    } else if index > 0, run.origins.left == runs[index - 1].lastID {
      shape = SnapshotFormat.LeftTag.runBefore
    }
    let right: UInt8
    if run.origins.right == nil {
      right = SnapshotFormat.RightTag.end
    } else if index + 1 < runs.count, run.origins.right == runs[index + 1].id {
      right = SnapshotFormat.RightTag.runBehind
    } else if index > 0, run.origins.right == runs[index - 1].origins.right {
      right = SnapshotFormat.RightTag.previous
    } else {
      right = SnapshotFormat.RightTag.explicit
    }
    return shape | right << 2
  }

  /// A reference among the numbers.
  private mutating func write(_ id: OperationID, _ kind: SnapshotFormat.Kind) {
    SnapshotPartEncoder.write(id.seq, index(of: id.replica), kind, to: &numbers, &context)
  }

  /// A reference among the runs.
  private mutating func writeUnit(_ id: OperationID, _ kind: SnapshotFormat.Kind) {
    SnapshotPartEncoder.write(id.seq, index(of: id.replica), kind, to: &runs, &context)
  }

  private static func write(
    _ seq: UInt32, _ replica: Int, _ kind: SnapshotFormat.Kind, to writer: inout ByteWriter,
    _ context: inout SnapshotFormat.Context
  ) {
    let distance = ByteWriter.zigzag(Int64(seq) - context.focus(kind, replica))
    if replica == context.lastReplica(kind) {
      writer.number(distance << 1)
    } else {
      writer.number(distance << 1 | 1)
      writer.count(replica)
    }
    context.note(kind, replica, Int64(seq))
  }

  /// The index in the part's table; adds the replica if it is new.
  private mutating func index(of replica: ReplicaID) -> Int {
    // It is usually the last one.
    if replicas.last == replica { return replicas.count - 1 }
    if let index = indexes[replica] { return index }
    indexes[replica] = replicas.count
    replicas.append(replica)
    context.addReplica()
    return replicas.count - 1
  }
}
