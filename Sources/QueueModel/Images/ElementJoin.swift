import SequenceCRDT

/// Joins sessions and messages of two states: tags, registers, positions, texts.
extension KnownStates {
  /// A session that both states have, without its messages.
  func joined(
    headsOf one: WorkspaceImage.Session, _ other: WorkspaceImage.Session
  ) throws(MergeError) -> WorkspaceImage.Session {
    var session = WorkspaceImage.Session(key: one.key)
    session.references = try joined(one.references, other.references)
    session.tags = try joined(one.tags, other.tags)
    session.registers = try joined(one.registers, other.registers)
    session.threadPosition = try later(one.threadPosition, other.threadPosition)
    session.enqueued = try later(one.enqueued, other.enqueued)
    session.slots = try joined(one.slots, other.slots)
    return session
  }

  /// A message that both states have.
  func joined(
    _ one: WorkspaceImage.Message, _ other: WorkspaceImage.Message
  ) throws(MergeError) -> WorkspaceImage.Message {
    var message = one
    message.position = try later(one.position, other.position) ?? one.position
    message.tags = try joined(one.tags, other.tags)
    message.registers = try joined(one.registers, other.registers)
    message.additions = try paired(one.additions, other.additions, by: \.id) {
      mine, theirs throws(MergeError) in
      if let mine, let theirs { return try joined(mine, theirs) }
      try check(mine?.id, theirs?.id)
      return mine ?? theirs
    }
    return message
  }

  private func joined(
    _ one: [OperationID], _ other: [OperationID]
  ) throws(MergeError) -> [OperationID] {
    try paired(one, other, by: { $0 }) { mine, theirs throws(MergeError) in
      if mine == nil || theirs == nil { try check(mine, theirs) }
      return mine ?? theirs
    }
  }

  /// Checks that an element in only one state is unknown to the other.
  private func check(_ mine: OperationID?, _ theirs: OperationID?) throws(MergeError) {
    if let mine { try check(mine, isUnknownTo: there) }
    if let theirs { try check(theirs, isUnknownTo: here) }
  }

  /// A tag that is in only one state was cleared in the other, if the other knows it.
  private func joined(
    _ one: [WorkspaceImage.Tags], _ other: [WorkspaceImage.Tags]
  ) throws(MergeError) -> [WorkspaceImage.Tags] {
    try paired(one, other, by: \.field.rawValue) { mine, theirs throws(MergeError) in
      guard let field = (mine ?? theirs)?.field else { return nil }
      let tags = try paired(mine?.tags ?? [], theirs?.tags ?? [], by: \.id) {
        tag, other throws(MergeError) in
        if let tag, let other {
          guard tag.note.isExactly(other.note) else { throw .contradiction(in: tag.id) }
          return tag
        }
        if let tag { return there.contains(tag.id) ? nil : tag }
        if let other { return here.contains(other.id) ? nil : other }
        return nil
      }
      return tags.isEmpty ? nil : WorkspaceImage.Tags(field: field, tags: tags)
    }
  }

  private func joined(
    _ one: [WorkspaceImage.Register], _ other: [WorkspaceImage.Register]
  ) throws(MergeError) -> [WorkspaceImage.Register] {
    try paired(one, other, by: \.field) { mine, theirs throws(MergeError) in
      try later(mine, theirs, order: { ($0.stamp, $0.writer) }) { $0.value.isExactly($1.value) }
    }
  }

  private func later(
    _ one: WorkspaceImage.Position?, _ other: WorkspaceImage.Position?
  ) throws(MergeError) -> WorkspaceImage.Position? {
    try later(one, other, order: { ($0.stamp, $0.slot) }) { _, _ in true }
  }

  /// The later of two writes.
  private func later<Write>(
    _ one: Write?, _ other: Write?, order: (Write) -> (stamp: Stamp, writer: OperationID),
    isSame: (Write, Write) -> Bool
  ) throws(MergeError) -> Write? {
    let (mine, theirs) = (one.map(order), other.map(order))
    if let one, let other, let mine, let theirs, mine == theirs {
      guard isSame(one, other) else { throw .contradiction(in: mine.writer) }
      return one
    }
    if let mine, theirs.map({ mine > $0 }) ?? true { return one }
    return other
  }

  /// The later of two announcements of a replica.
  func later(
    _ one: WorkspaceImage.Announcement?, _ other: WorkspaceImage.Announcement?,
    of replica: ReplicaID
  ) throws(MergeError) -> WorkspaceImage.Announcement? {
    try later(
      one, other, order: { (Stamp.zero, OperationID(replica: replica, seq: $0.seq)) }
    ) { $0.device == $1.device && $0.name.isExactly($1.name) }
  }
}

extension String {
  /// Whether the scalars are the same; `==` equates canonical equivalents.
  fileprivate func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension RegisterValue {
  fileprivate func isExactly(_ other: RegisterValue) -> Bool {
    if case .text(let text) = self, case .text(let other) = other { return text.isExactly(other) }
    return self == other
  }
}

// MARK: Names

extension WorkspaceImage {
  /// The vector, of replicas in ascending order.
  func checkedVector() throws(MergeError) -> VersionVector {
    let isInOrder = zip(replicas, replicas.dropFirst()).allSatisfy { $0.id < $1.id }
    guard isInOrder, replicas.allSatisfy(\.isInRange) else {
      throw .invalidImage(reason: "a replica entry is out of range or out of order")
    }
    return vector
  }

  /// Checks that the state names only known operations, and that its runs can be counted.
  func check(knownBy vector: VersionVector) throws(MergeError) {
    var units = 0
    let check = { (first: OperationID, last: OperationID) throws(MergeError) in
      guard first.seq >= 1, vector.contains(last) else {
        throw .invalidImage(reason: "it contains something that no operation wrote")
      }
      units += Int(last.seq - first.seq) + 1
      guard units <= RunSequence.unitsMax else {
        throw .invalidImage(reason: "it has more units than a list can hold")
      }
    }
    for run in threadSlots { try run.visit(check) }
    for session in sessions {
      try session.forEachHeadName(check)
      for message in session.messages { try message.forEachName(check) }
    }
  }
}

extension WorkspaceImage.Session {
  /// Visits the ids of everything except the messages, as stretches.
  func forEachHeadName(
    _ body: (OperationID, OperationID) throws(MergeError) -> Void
  ) throws(MergeError) {
    for id in references { try body(id, id) }
    try WorkspaceImage.forEachName(tags, registers, body)
    for slot in [threadPosition, enqueued].compactMap({ $0?.slot }) { try body(slot, slot) }
    for run in slots { try run.visit(body) }
  }
}

extension WorkspaceImage.Message {
  /// Visits the ids of everything, as stretches.
  func forEachName(
    _ body: (OperationID, OperationID) throws(MergeError) -> Void
  ) throws(MergeError) {
    try body(position.slot, position.slot)
    try WorkspaceImage.forEachName(tags, registers, body)
    for addition in additions {
      try body(addition.id, addition.id)
      for run in addition.runs { try run.slots.visit(body) }
    }
  }
}

extension WorkspaceImage {
  fileprivate static func forEachName(
    _ tags: [Tags], _ registers: [Register],
    _ body: (OperationID, OperationID) throws(MergeError) -> Void
  ) throws(MergeError) {
    for tag in tags.lazy.flatMap(\.tags) { try body(tag.id, tag.id) }
    for register in registers { try body(register.writer, register.writer) }
  }
}

extension WorkspaceImage.SlotRun {
  fileprivate func visit(
    _ body: (OperationID, OperationID) throws(MergeError) -> Void
  ) throws(MergeError) {
    guard length >= 1, let last = id.advanced(by: length - 1) else {
      throw .invalidImage(reason: "a run is empty or its ids overflow")
    }
    try body(id, last)
  }
}
