import QueueModel
package import SequenceCRDT
import WireProtocol

/// Finding own operations again in a state, where there are no operations to compare;
/// SPECIFICATION.md, section "Forms".
extension Replica {
  /// Own replicas of which the base of the server may hold other events than are here, and the
  /// first number of each that is to be authored anew.
  ///
  /// Asked before a base is taken over, since its operations leave the log. What the base shows
  /// under the id it has here has arrived, and with it all before; typed text never comes twice.
  /// What follows is not there, or no longer shown: then it comes again rather than not at all.
  package func forked(
    from base: Base, store: some ReplicaStore
  ) throws(Fault) -> [ReplicaID: UInt32] {
    var suspects: [ReplicaID: ClosedRange<UInt32>] = [:]
    for replica in base.image.replicas where record.ownReplicas.contains(replica.id) {
      let mine = workspace.vector[replica.id]
      let last = min(replica.seq, mine)
      let acknowledged = record.acknowledged[replica.id]
      let floor = record.floor[replica.id]
      if replica.seq > mine {
        // This store was set back, or another one wrote under the same id.
        guard acknowledged < mine else { continue }
        if acknowledged < last { suspects[replica.id] = acknowledged + 1...last }
        continue
      }
      let known = KnownReplica(replica: replica.id, seq: replica.seq, digest: replica.digest)
      let digest =
        replica.seq == mine
        ? workspace.digest(of: replica.id)
        : try digests(upTo: [known], store: store)[replica.id]
      guard let digest, digest != replica.digest else { continue }
      let first = acknowledged < last ? max(acknowledged, floor) : floor
      if first < last { suspects[replica.id] = first + 1...last }
    }
    guard !suspects.isEmpty else { return [:] }
    let ranges = suspects.sorted { $0.key < $1.key }.map {
      OperationRange(replica: $0.key, first: $0.value.lowerBound, last: $0.value.upperBound)
    }
    let held = try entries(of: store, in: ranges).flatMap(\.operations)
    let evidence = Evidence(of: base.image, about: Set(suspects.keys))
    var cuts: [ReplicaID: UInt32] = [:]
    for (replica, range) in suspects {
      var arrived = range.lowerBound - 1
      search: for operation in held.inOrder(of: replica) {
        guard let ids = operation.range, ids.last >= range.lowerBound,
          ids.first <= range.upperBound
        else { continue }
        switch evidence.finding(about: operation) {
        case .shown: arrived = max(arrived, min(ids.last, range.upperBound))
        case .silence: continue
        case .otherEvent: break search
        }
      }
      if arrived < range.upperBound { cuts[replica] = arrived + 1 }
    }
    return cuts
  }
}

/// What a state shows under the ids of some replicas.
private struct Evidence {
  /// What it says about an operation.
  enum Finding {
    /// It is there.
    case shown
    /// It may have been there and be gone.
    case silence
    /// There is something else, or it would still be there.
    case otherEvent
  }

  private enum Element: Hashable {
    case session(SessionID)
    case message(MessageID)
  }

  private struct Scalar: Hashable {
    var addition: OperationID
    /// nil for one that is deleted.
    var scalar: Unicode.Scalar?
  }

  private struct Mark: Hashable {
    var element: Element
    var field: UInt8
  }

  private let replicas: Set<ReplicaID>
  /// By the operations that introduced them.
  private var elements: [OperationID: Element] = [:]
  private var scalars: [OperationID: Scalar] = [:]
  private var slots: [OperationID: Element] = [:]
  private var tags: [OperationID: Mark] = [:]
  private var registers: [OperationID: Mark] = [:]

  init(of image: WorkspaceImage, about replicas: Set<ReplicaID>) {
    self.replicas = replicas
    for session in image.sessions {
      let element = Element.session(session.key)
      for reference in session.references { elements[reference] = element }
      if let slot = session.threadPosition?.slot { slots[slot] = element }
      if let slot = session.enqueued?.slot { slots[slot] = element }
      note(session.tags, session.registers, of: element)
      for message in session.messages {
        let element = Element.message(message.id)
        slots[message.position.slot] = element
        note(message.tags, message.registers, of: element)
        for addition in message.additions {
          elements[addition.id] = element
          note(addition)
        }
      }
    }
  }

  private mutating func note(
    _ tags: [WorkspaceImage.Tags], _ registers: [WorkspaceImage.Register], of element: Element
  ) {
    for set in tags {
      for tag in set.tags {
        self.tags[tag.id] = Mark(element: element, field: set.field.rawValue)
      }
    }
    for register in registers {
      self.registers[register.writer] = Mark(element: element, field: register.field.rawValue)
    }
  }

  private mutating func note(_ addition: WorkspaceImage.Addition) {
    var text = addition.text.unicodeScalars.makeIterator()
    for run in addition.runs {
      for offset in 0..<run.slots.length {
        let scalar = run.isVisible ? text.next() : nil
        guard replicas.contains(run.slots.id.replica),
          let id = run.slots.id.advanced(by: offset)
        else { continue }
        scalars[id] = Scalar(addition: addition.id, scalar: scalar)
      }
    }
  }

  func finding(about operation: Operation) -> Finding {
    let id = operation.id
    switch operation.body {
    case .openSession(let session, _):
      // References to sessions and messages are never dropped.
      return elements[id] == .session(session) ? .shown : .otherEvent
    case .addMessage(let addition):
      return elements[id] == .message(addition.message) ? .shown : .otherEvent
    case .insertText(let insertion):
      return finding(about: insertion, id)
    default:
      break
    }
    if elements[id] != nil || scalars[id] != nil { return .otherEvent }
    switch operation.body {
    case .placeMessage(let element, _, _, _), .placeThread(let element, _, _):
      return found(slots[id], elements[element])
    case .enqueueThread(let enqueue):
      return found(slots[id], elements[enqueue.session])
    case .addTag(let element, let field, _, _):
      return found(tags[id], mark(element, field.rawValue))
    case .setRegister(let element, let field, _, _):
      return found(registers[id], mark(element, field.rawValue))
    default:
      return .silence
    }
  }

  private func mark(_ element: OperationID, _ field: UInt8) -> Mark? {
    elements[element].map { Mark(element: $0, field: field) }
  }

  private func found<Value: Equatable>(_ shown: Value?, _ expected: Value?) -> Finding {
    guard let shown else { return .silence }
    return shown == expected ? .shown : .otherEvent
  }

  private func finding(
    about insertion: Operation.InsertText, _ id: OperationID
  ) -> Finding {
    var finding = Finding.silence
    for (offset, scalar) in insertion.text.unicodeScalars.enumerated() {
      guard let unit = id.advanced(by: offset) else { continue }
      if elements[unit] != nil || slots[unit] != nil { return .otherEvent }
      guard let shown = scalars[unit] else { continue }
      guard shown.addition == insertion.message, shown.scalar ?? scalar == scalar else {
        return .otherEvent
      }
      finding = .shown
    }
    return finding
  }
}
