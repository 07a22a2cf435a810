package import SequenceCRDT

extension WorkspaceImage {
  /// What of one replica gets ids of another, from a number on.
  package struct Succession: Hashable, Sendable {
    package var first: UInt32
    package var successor: ReplicaID
    /// The number that the successor's numbers are counted from, which is not greater.
    package var origin: UInt32
    /// Numbers behind the first one that stay.
    package var kept: ClosedRange<UInt32>?

    package init(
      first: UInt32, successor: ReplicaID, origin: UInt32? = nil, kept: ClosedRange<UInt32>? = nil
    ) {
      self.first = first
      self.successor = successor
      self.origin = origin ?? first
      self.kept = kept
    }

    /// The number that the origin gets, behind the successor's announcement.
    package static let numberedFrom: UInt32 = 2

    fileprivate func isRenamed(_ seq: UInt32) -> Bool {
      seq >= first && kept?.contains(seq) != true
    }

    fileprivate func renamed(_ seq: UInt32) -> OperationID {
      OperationID(replica: successor, seq: seq - origin + Succession.numberedFrom)
    }
  }

  /// The same state under other ids, its lists as chains.
  ///
  /// From the given numbers on, a replica's ids are its successor's, in the same distances; the
  /// successor announces what the replica announced. What digests say of either is not known to
  /// anybody. A state in which numbers stay does not know them: it is to be united with one that does.
  ///
  /// - Precondition: nothing is known of the successors; the lists are chains.
  /// - Complexity: O(state).
  package func renamed(_ successions: [ReplicaID: Succession]) -> WorkspaceImage {
    func renamed(_ id: OperationID) -> OperationID { id.renamed(successions) }
    func renamed(_ runs: [SlotRun]) -> [SlotRun] {
      WorkspaceImage.chain(runs.units.map(renamed))
    }
    func renamed(_ position: Position) -> Position {
      Position(stamp: position.stamp, slot: renamed(position.slot))
    }
    func renamed(_ registers: [Register]) -> [Register] {
      registers.map { register in
        var register = register
        register.writer = renamed(register.writer)
        return register
      }
    }
    func renamed(_ sets: [Tags]) -> [Tags] {
      sets.map { set in
        let tags = set.tags.map { Tag(id: renamed($0.id), note: $0.note) }
        return Tags(field: set.field, tags: tags.sorted { $0.id < $1.id })
      }
    }
    func renamed(_ addition: Addition) -> Addition {
      var addition = addition
      addition.id = renamed(addition.id)
      addition.set(addition.visible.map { (renamed($0.0), $0.1) })
      return addition
    }
    var result = self
    result.replicas = replicas.flatMap { $0.succeeded(by: successions[$0.id]) }
      .sorted { $0.id < $1.id }
    result.threadSlots = renamed(threadSlots)
    for (index, session) in sessions.enumerated() {
      var session = session
      session.references = session.references.map(renamed).sorted()
      session.tags = renamed(session.tags)
      session.registers = renamed(session.registers)
      session.threadPosition = session.threadPosition.map(renamed)
      session.enqueued = session.enqueued.map(renamed)
      session.slots = renamed(session.slots)
      for (place, message) in session.messages.enumerated() {
        session.messages[place].additions = message.additions.map(renamed)
          .sorted { $0.id < $1.id }
        session.messages[place].tags = renamed(message.tags)
        session.messages[place].registers = renamed(message.registers)
        session.messages[place].position = renamed(message.position)
      }
      result.sessions[index] = session
    }
    return result
  }

  /// The ids of what names something that is renamed, and so is to be renamed as well.
  ///
  /// - Complexity: O(state).
  package func naming(_ isRenamed: (OperationID) -> Bool) -> [OperationID] {
    var naming: [OperationID] = []
    func note(_ tags: [Tags], _ registers: [Register]) {
      naming += tags.flatMap(\.tags).map(\.id) + registers.map(\.writer)
    }
    for session in sessions {
      let isSessionRenamed = session.references.allSatisfy(isRenamed)
      if isSessionRenamed {
        note(session.tags, session.registers)
        naming += [session.threadPosition, session.enqueued].compactMap { $0?.slot }
      }
      for message in session.messages {
        if isSessionRenamed { naming += message.additions.map(\.id) }
        if isSessionRenamed || message.additions.allSatisfy({ isRenamed($0.id) }) {
          naming.append(message.position.slot)
          note(message.tags, message.registers)
        }
        for addition in message.additions where isRenamed(addition.id) {
          naming += addition.visible.map(\.0)
        }
      }
    }
    return naming
  }
}

extension OperationID {
  /// The id that the operation has in a state that is renamed.
  package func renamed(
    _ successions: [ReplicaID: WorkspaceImage.Succession]
  ) -> OperationID {
    guard let succession = successions[replica], succession.isRenamed(seq) else { return self }
    return succession.renamed(seq)
  }
}

extension WorkspaceImage.Replica {
  /// What there is of the replica, and of its successor.
  fileprivate func succeeded(
    by succession: WorkspaceImage.Succession?
  ) -> [WorkspaceImage.Replica] {
    guard let succession, succession.first <= seq else { return [self] }
    var successor = self
    successor.id = succession.successor
    let last = succession.kept.map { $0.upperBound < seq ? seq : $0.lowerBound - 1 } ?? seq
    successor.seq = succession.renamed(last).seq
    successor.announcement?.seq = WorkspaceImage.Succession.numberedFrom - 1
    guard succession.first > 1 else { return [successor] }
    var rest = self
    rest.seq = succession.first - 1
    rest.announcement = announcement.map { announcement in
      var announcement = announcement
      announcement.seq = min(announcement.seq, rest.seq)
      return announcement
    }
    return [rest, successor]
  }
}
