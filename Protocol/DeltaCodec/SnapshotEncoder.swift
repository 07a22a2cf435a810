import QueueModel
import SequenceCRDT

/// Writes a workspace's state; SPECIFICATION.md, section "Snapshot".
///
/// Numbers, incompressible identifiers and text go to streams of their own, and the fields of
/// equal kind of a list stand together, so that compression finds alike beside alike.
struct SnapshotEncoder {
  private var numbers = ByteWriter()
  private var identifiers = ByteWriter()
  private var texts = ByteWriter()
  private let indexes: [ReplicaID: Int]
  private var context: SnapshotFormat.Context

  static func encode(_ image: WorkspaceImage) -> EncodedBody {
    var encoder = SnapshotEncoder(image)
    encoder.write(image)
    var writer = ByteWriter()
    writer.number(SnapshotFormat.layout)
    writer.blob(encoder.numbers.bytes)
    let numbersEnd = writer.bytes.count
    writer.blob(encoder.identifiers.bytes)
    let partEnds = [numbersEnd, writer.bytes.count]
    writer.raw(encoder.texts.bytes)
    return EncodedBody(bytes: writer.bytes, partEnds: partEnds)
  }

  private init(_ image: WorkspaceImage) {
    var indexes: [ReplicaID: Int] = [:]
    for (index, replica) in image.replicas.enumerated() { indexes[replica.id] = index }
    self.indexes = indexes
    context = SnapshotFormat.Context(replicaCount: image.replicas.count)
  }

  private mutating func write(_ image: WorkspaceImage) {
    numbers.count(image.replicas.count)
    for replica in image.replicas { write(replica) }
    numbers.count(image.sessions.count)
    for session in image.sessions { write(session) }
    numbers.count(image.messages.count)
    for message in image.messages { write(message) }
    writeRuns(image.threadSlots, visible: nil)
    writeOwners(image.threadSlotOwners)
  }

  private mutating func write(_ replica: WorkspaceImage.Replica) {
    identifiers.fixed(replica.id.rawValue)
    numbers.count(Int(replica.seq))
    identifiers.fixed(replica.digest)
    numbers.count(Int(replica.announcement?.seq ?? 0))
    guard let announcement = replica.announcement else { return }
    identifiers.identifier(announcement.device)
    write(announcement.name)
  }

  private mutating func write(_ session: WorkspaceImage.Session) {
    write(session.key.rawValue)
    numbers.count(session.references.count)
    for reference in session.references { write(reference, .element) }
    write(session.tags)
    write(session.registers)
    let positions = [session.threadPosition, session.enqueued]
    numbers.count((positions[0] == nil ? 0 : 1) + (positions[1] == nil ? 0 : 2))
    for case .some(let position) in positions { write(position) }
    writeRuns(session.slots, visible: nil)
    writeOwners(session.slotOwners)
  }

  private mutating func write(_ message: WorkspaceImage.Message) {
    identifiers.identifier(message.id)
    numbers.count(message.additions.count)
    for addition in message.additions {
      write(addition.id, .element)
      write(addition.stamp)
      writeRuns(addition.runs.map(\.slots), visible: addition.runs.map(\.isVisible))
      texts.raw(addition.text.utf8)
    }
    write(message.tags)
    write(message.registers)
    numbers.signed(message.session - context.messageSession)
    context.messageSession = message.session
    write(message.position)
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

  private mutating func write(_ position: WorkspaceImage.ThreadPosition) {
    write(position.stamp)
    write(position.slot, .writer)
  }

  private mutating func writeOwners(_ owners: [Int]) {
    var expected = 0
    for owner in owners {
      numbers.signed(owner - expected)
      expected = owner + 1
    }
  }

  private mutating func writeRuns(_ runs: [WorkspaceImage.SlotRun], visible: [Bool]?) {
    numbers.count(runs.count)
    for run in runs { numbers.count(run.length) }
    for run in runs { write(run.id, .slot) }
    for (index, run) in runs.enumerated() {
      var shape = shape(of: run, at: index, in: runs)
      if let visible, visible[index] { shape |= SnapshotFormat.visible }
      numbers.byte(shape)
    }
    for (index, run) in runs.enumerated() {
      let shape = shape(of: run, at: index, in: runs)
      if shape & 3 == SnapshotFormat.LeftTag.explicit, let left = run.origins.left {
        write(left, .slot)
      }
      if shape >> 2 == SnapshotFormat.RightTag.explicit, let right = run.origins.right {
        write(right, .slot)
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

  private mutating func write(_ id: OperationID, _ focus: SnapshotFormat.Focus) {
    guard let replica = indexes[id.replica] else {
      preconditionFailure("an image names its replicas")
    }
    let distance = ByteWriter.zigzag(Int(id.seq) - context[focus, replica])
    if replica == context[lastReplica: focus] {
      numbers.number(distance << 1)
    } else {
      numbers.number(distance << 1 | 1)
      numbers.count(replica)
      context[lastReplica: focus] = replica
    }
    context[focus, replica] = Int(id.seq)
  }

  private mutating func write(_ stamp: Stamp) {
    let distance = ByteWriter.zigzag(Int(stamp.milliseconds - context.milliseconds))
    numbers.number(distance << 1 | (stamp.counter == 0 ? 0 : 1))
    if stamp.counter != 0 { numbers.count(Int(stamp.counter)) }
    context.milliseconds = stamp.milliseconds
  }

  private mutating func write(_ text: String) {
    numbers.count(text.utf8.count)
    texts.raw(text.utf8)
  }
}

extension WorkspaceImage.SlotRun {
  /// The id of the last unit; nil where it would leave the range of sequence numbers.
  var lastID: OperationID? { id.advanced(by: length - 1) }
}
