import QueueModel
import SequenceCRDT

/// Reading the parts of a base, as plainly as everything else here.
extension SlowState.Session {
  init(base session: WorkspaceImage.Session) {
    references = session.references
    tags = SlowState.tags(session.tags)
    registers = SlowState.registers(session.registers)
    slots.insert(chain: session.slots)
    for message in session.messages { slotOwners[message.position.slot] = message.id }
    threadPosition = session.threadPosition.map(SlowState.Position.init(base:))
    enqueued = session.enqueued.map(SlowState.Position.init(base:))
  }
}

extension SlowState.Message {
  init(base message: WorkspaceImage.Message, in key: SessionID) {
    self.init(session: key, position: SlowState.Position(base: message.position))
    tags = SlowState.tags(message.tags)
    registers = SlowState.registers(message.registers)
    for addition in message.additions {
      additions[addition.id] = SlowState.Addition(base: addition)
    }
  }
}

extension SlowState.Addition {
  fileprivate init(base addition: WorkspaceImage.Addition) {
    stamp = addition.stamp
    scalars.insert(chain: addition.runs.map(\.slots))
    characters = Dictionary(
      zip(scalars.order(), addition.text.unicodeScalars).map { ($0, $1) }
    ) { first, _ in first }
  }
}

extension SlowState.Position {
  fileprivate init(base position: WorkspaceImage.Position) {
    self.init(stamp: position.stamp, slot: position.slot)
  }
}

extension SlowState {
  fileprivate static func tags(_ image: [WorkspaceImage.Tags]) -> [TagField: TagSet] {
    var tags: [TagField: TagSet] = [:]
    for set in image {
      for tag in set.tags { tags[set.field, default: TagSet()].put[tag.id] = tag.note }
    }
    return tags
  }

  fileprivate static func registers(
    _ image: [WorkspaceImage.Register]
  ) -> [RegisterField: Register] {
    var registers: [RegisterField: Register] = [:]
    for register in image {
      registers[register.field] = Register(
        value: register.value, stamp: register.stamp, writer: register.writer)
    }
    return registers
  }
}

extension SlowSequence {
  /// Inserts units from left to right, each behind the one before.
  mutating func insert(chain runs: [WorkspaceImage.SlotRun]) {
    var last: OperationID?
    for run in runs {
      precondition(run.origins == Operation.Origins(left: last, right: nil), "no chain")
      for offset in 0..<run.length {
        guard let id = run.id.advanced(by: offset) else { continue }
        insert(id, origins: Operation.Origins(left: last, right: nil))
        last = id
      }
    }
  }
}
