package import QueueModel
package import SequenceCRDT

/// The meaning of a set of operations in the plainest form: dictionaries and explicit trees.
package struct SlowState {
  package struct Register {
    package var value: RegisterValue
    package var stamp: Stamp
    package var writer: OperationID
  }

  package struct TagSet {
    /// Every tag ever added, with its note.
    package var put: [OperationID: String] = [:]
    /// Every tag ever cleared, added or not.
    package var cleared: Set<OperationID> = []
    /// The present tags, by id.
    package var holding: [(id: OperationID, note: String)] {
      put.filter { !cleared.contains($0.key) }.sorted { $0.key < $1.key }
        .map { (id: $0.key, note: $0.value) }
    }
    package var holds: Bool { put.keys.contains { !cleared.contains($0) } }
  }

  package struct Position {
    package var stamp: Stamp
    package var slot: OperationID
  }

  package struct Session {
    package var references: [OperationID] = []
    package var tags: [TagField: TagSet] = [:]
    package var registers: [RegisterField: Register] = [:]
    package var slots = SlowSequence()
    package var slotOwners: [OperationID: MessageID] = [:]
    package var threadPosition: Position?
    package var enqueued: Position?
  }

  package struct Addition {
    package var stamp: Stamp
    package var scalars = SlowSequence()
    package var characters: [OperationID: Unicode.Scalar] = [:]
    package var deleted: Set<OperationID> = []
  }

  package struct Message {
    package var additions: [OperationID: Addition] = [:]
    package var tags: [TagField: TagSet] = [:]
    package var registers: [RegisterField: Register] = [:]
    package var session: SessionID
    package var position: Position
  }

  package private(set) var vector: VersionVector
  package private(set) var sessions: [SessionID: Session] = [:]
  package private(set) var messages: [MessageID: Message] = [:]
  package private(set) var threadSlots = SlowSequence()
  package private(set) var threadSlotOwners: [OperationID: SessionID] = [:]
  /// The latest announcement of each replica.
  package private(set) var announcements: [ReplicaID: WorkspaceImage.Announcement] = [:]
  /// The sessions that element references name.
  private var sessionKeys: [OperationID: SessionID] = [:]
  private var messageIDs: [OperationID: MessageID] = [:]

  init(vector: VersionVector) {
    self.vector = vector
  }

  /// Adds an operation whose references have all been applied before.
  mutating func apply(_ operation: Operation) {
    let id = operation.id
    switch operation.body {
    case .announceDevice(let device, let name):
      announcements[id.replica] = WorkspaceImage.Announcement(
        seq: id.seq, device: device, name: name)
    case .openSession(let key, let clears):
      sessionKeys[id] = key
      sessions[key, default: Session()].references.append(id)
      sessions[key]?.put(id, note: "", in: .exists, clearing: clears)
    case .addMessage(let addition): apply(addition, id)
    case .insertText(let insertion): apply(insertion, id)
    case .deleteText(let deletion):
      guard let message = messageIDs[deletion.message] else { return }
      for distance in 0..<deletion.count {
        guard let scalar = deletion.first.advanced(by: distance) else { continue }
        messages[message]?.additions[deletion.message]?.deleted.insert(scalar)
      }
    case .placeMessage(let message, let session, let origins, let stamp):
      guard let message = messageIDs[message], let key = sessionKeys[session] else { return }
      addSlot(id, for: message, in: key, origins)
      messages[message]?.move(to: key, stamp, id)
    case .placeThread(let session, let origins, let stamp):
      placeThread(id, session, origins, stamp)
    case .enqueueThread(let enqueuing): apply(enqueuing, id)
    case .addTag(let element, let field, let clears, let note):
      if let key = sessionKeys[element] {
        sessions[key]?.put(id, note: note, in: field, clearing: clears)
      } else if let message = messageIDs[element] {
        messages[message]?.tags[field, default: TagSet()].put[id] = note
        messages[message]?.tags[field]?.cleared.formUnion(clears)
      }
    case .clearTags(let element, let field, let clears):
      if let key = sessionKeys[element] {
        sessions[key]?.tags[field, default: TagSet()].cleared.formUnion(clears)
      } else if let message = messageIDs[element] {
        messages[message]?.tags[field, default: TagSet()].cleared.formUnion(clears)
      }
    case .setRegister(let element, let field, let value, let stamp):
      let write = Register(value: value, stamp: stamp, writer: id)
      if let key = sessionKeys[element] {
        write.win(in: &sessions[key, default: Session()].registers[field])
      } else if let message = messageIDs[element] {
        messages[message]?.write(write, to: field)
      }
    }
  }

  private mutating func apply(_ addition: Operation.AddMessage, _ id: OperationID) {
    guard let key = sessionKeys[addition.session] else { return }
    let message = addition.message
    messageIDs[id] = message
    sessions[key]?.put(id, note: "", in: .exists, clearing: addition.clears)
    addSlot(id, for: message, in: key, addition.origins)
    let position = Position(stamp: addition.stamp, slot: id)
    messages[message, default: Message(session: key, position: position)]
      .move(to: key, addition.stamp, id)
    messages[message]?.additions[id] = Addition(stamp: addition.stamp)
    messages[message]?.tags[.live, default: TagSet()].put[id] = ""
    messages[message]?.write(
      Register(
        value: .number(UInt64(addition.priority.rawValue)), stamp: addition.stamp, writer: id),
      to: .priority)
  }

  private mutating func apply(_ insertion: Operation.InsertText, _ id: OperationID) {
    guard let message = messageIDs[insertion.message] else { return }
    var origins = insertion.origins
    for (distance, scalar) in insertion.text.unicodeScalars.enumerated() {
      guard let unit = id.advanced(by: distance) else { continue }
      messages[message]?.additions[insertion.message]?.characters[unit] = scalar
      messages[message]?.additions[insertion.message]?.scalars.insert(unit, origins: origins)
      origins.left = unit
    }
  }

  private mutating func apply(_ enqueuing: Operation.EnqueueThread, _ id: OperationID) {
    guard let key = sessionKeys[enqueuing.session] else { return }
    placeThread(id, enqueuing.session, enqueuing.origins, enqueuing.stamp)
    sessions[key]?.put(id, note: "", in: .queued, clearing: enqueuing.clearsQueued)
    if enqueuing.locks {
      sessions[key]?.put(id, note: "", in: .locked, clearing: enqueuing.clearsLocked)
    } else {
      sessions[key]?.tags[.locked, default: TagSet()].cleared.formUnion(enqueuing.clearsLocked)
    }
    let position = Position(stamp: enqueuing.stamp, slot: id)
    position.win(in: &sessions[key, default: Session()].enqueued)
  }

  private mutating func placeThread(
    _ id: OperationID, _ session: OperationID, _ origins: Operation.Origins, _ stamp: Stamp
  ) {
    guard let key = sessionKeys[session] else { return }
    threadSlots.insert(id, origins: origins)
    threadSlotOwners[id] = key
    let position = Position(stamp: stamp, slot: id)
    position.win(in: &sessions[key, default: Session()].threadPosition)
  }

  private mutating func addSlot(
    _ id: OperationID, for message: MessageID, in key: SessionID, _ origins: Operation.Origins
  ) {
    sessions[key]?.slots.insert(id, origins: origins)
    sessions[key]?.slotOwners[id] = message
  }
}

extension SlowState.Register {
  /// Replaces the register's content if it is empty or the write is later.
  fileprivate func win(in register: inout Self?) {
    guard let old = register else {
      register = self
      return
    }
    if (stamp, writer) > (old.stamp, old.writer) { register = self }
  }
}

extension SlowState.Position {
  fileprivate func win(in position: inout Self?) {
    guard let old = position else {
      position = self
      return
    }
    if (stamp, slot) > (old.stamp, old.slot) { position = self }
  }
}

extension SlowState.Session {
  fileprivate mutating func put(
    _ id: OperationID, note: String, in field: TagField, clearing clears: [OperationID]
  ) {
    tags[field, default: SlowState.TagSet()].put[id] = note
    tags[field]?.cleared.formUnion(clears)
  }
}

extension SlowState.Message {
  fileprivate mutating func move(to key: SessionID, _ stamp: Stamp, _ slot: OperationID) {
    guard (stamp, slot) > (position.stamp, position.slot) else { return }
    session = key
    position = SlowState.Position(stamp: stamp, slot: slot)
  }

  fileprivate mutating func write(_ write: SlowState.Register, to field: RegisterField) {
    write.win(in: &registers[field])
  }
}
