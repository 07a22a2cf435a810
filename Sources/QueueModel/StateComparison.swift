package import SequenceCRDT

/// What two states show under the same ids, where nobody has the operations any more;
/// SPECIFICATION.md, section "Compaction".
package struct StateComparison: Hashable, Sendable {
  /// What a state shows of an operation.
  package enum Name: Hashable, Sendable {
    case session(SessionID)
    case message(MessageID)
    case scalar(OperationID, Unicode.Scalar)
    case place(MessageID)
    case thread(SessionID)
    case tag(Element, TagField, note: String)
    case register(Element, RegisterField, RegisterValue)

    package enum Element: Hashable, Sendable {
      case session(SessionID)
      case message(MessageID)
    }

    /// Whether a state that knows the operation shows it for ever.
    fileprivate var isNeverDropped: Bool {
      switch self {
      case .session, .message: true
      case .scalar, .place, .thread, .tag, .register: false
      }
    }
  }

  /// By replica, the first number of which the states show different things.
  package private(set) var contradictions: [ReplicaID: UInt32] = [:]
  /// Of these replicas, the number from which on the first state shows what the other does not show
  /// alike; no greater than that of the contradiction.
  package private(set) var firstUnshown: [ReplicaID: UInt32] = [:]

  /// Compares what both states know. Replicas with equal numbers and digests are alike.
  ///
  /// - Complexity: O(both states).
  package init(of one: WorkspaceImage, with other: WorkspaceImage) {
    let there = Dictionary(other.replicas.map { ($0.id, $0) }) { first, _ in first }
    var reach: [ReplicaID: UInt32] = [:]
    for replica in one.replicas {
      guard let known = there[replica.id],
        known.seq != replica.seq || known.digest != replica.digest
      else { continue }
      reach[replica.id] = min(known.seq, replica.seq)
    }
    guard !reach.isEmpty else { return }
    let mine = one.names { $0.seq <= reach[$0.replica] ?? 0 }
    let theirs = other.names { $0.seq <= reach[$0.replica] ?? 0 }
    for (id, name) in mine {
      let isOther = theirs[id].map { $0 != name } ?? name.isNeverDropped
      if isOther { note(id) }
    }
    for (id, name) in theirs where name.isNeverDropped && mine[id] == nil { note(id) }
    guard !contradictions.isEmpty else { return }
    var lastAlike: [ReplicaID: UInt32] = [:]
    for (id, name) in mine where theirs[id] == name && id.seq < contradictions[id.replica] ?? 0 {
      lastAlike[id.replica] = max(lastAlike[id.replica] ?? 0, id.seq)
    }
    firstUnshown = contradictions
    for id in mine.keys where id.seq > lastAlike[id.replica] ?? 0 {
      firstUnshown[id.replica] = firstUnshown[id.replica].map { min($0, id.seq) }
    }
  }

  private mutating func note(_ id: OperationID) {
    contradictions[id.replica] = min(contradictions[id.replica] ?? .max, id.seq)
  }
}

extension WorkspaceImage {
  /// What the state shows under ids that fulfil a condition.
  ///
  /// - Complexity: O(state).
  package func names(
    where isWanted: (OperationID) -> Bool
  ) -> [OperationID: StateComparison.Name] {
    var names: [OperationID: StateComparison.Name] = [:]
    func note(_ id: OperationID, _ name: StateComparison.Name) {
      if isWanted(id) { names[id] = name }
    }
    func note(_ tags: [Tags], _ registers: [Register], of element: StateComparison.Name.Element) {
      for register in registers {
        note(register.writer, .register(element, register.field, register.value))
      }
      for set in tags {
        for tag in set.tags { note(tag.id, .tag(element, set.field, note: tag.note)) }
      }
    }
    // An operation can be shown in several places; what names it most exactly comes last.
    for session in sessions {
      note(session.tags, session.registers, of: .session(session.key))
      for set in session.tags where set.field == .queued || set.field == .locked {
        for tag in set.tags { note(tag.id, .thread(session.key)) }
      }
      for position in [session.threadPosition, session.enqueued].compactMap({ $0 }) {
        note(position.slot, .thread(session.key))
      }
      for message in session.messages {
        note(message.tags, message.registers, of: .message(message.id))
        note(message.position.slot, .place(message.id))
      }
    }
    for session in sessions {
      for reference in session.references { note(reference, .session(session.key)) }
      for message in session.messages {
        for addition in message.additions {
          note(addition.id, .message(message.id))
          for (id, scalar) in addition.visible { note(id, .scalar(addition.id, scalar)) }
        }
      }
    }
    return names
  }
}
