import SequenceCRDT

extension UndoGroup {
  /// This group and a later one as one, where both are typing in one message without a pause.
  ///
  /// - Returns: nil where they are not.
  func joined(with later: UndoGroup) -> UndoGroup? {
    guard let message = typedMessage, later.typedMessage == message,
      let mine = texts.first, let theirs = later.texts.first, mine.content == theirs.content
    else { return nil }
    let pause = later.milliseconds - milliseconds
    guard pause >= 0, pause <= Limits.typingPauseMillisecondsMax,
      mine.scalarCount + theirs.scalarCount <= Limits.typingScalarsMax
    else { return nil }
    var inserted = OperationSet(mine.inserted)
    var deleted = mine.deleted
    for stretch in theirs.deleted {
      for range in inserted.remove(stretch.range) { deleted.append(stretch.part(range)) }
    }
    for range in theirs.inserted { inserted.insert(range) }
    var group = later
    group.texts = [
      TextStep(
        message: message, content: mine.content, inserted: inserted.ranges, deleted: deleted)
    ]
    return group
  }

  /// The same group with other names for the operations it speaks of; the content of a text keeps
  /// its name.
  ///
  /// - Parameters:
  ///   - newName: the name of what has this name in this role.
  ///   - texts: whether scalars of a content have other names.
  func renamed(
    _ newName: (OperationID, UndoSuccessors.Role) -> OperationID, texts: (OperationID) -> Bool
  ) -> UndoGroup {
    var group = self
    for (index, step) in tags.enumerated() {
      let role = UndoSuccessors.Role.tag(step.field)
      group.tags[index].put = OperationSet.unique(step.put.map { newName($0, role) })
      group.tags[index].cleared = step.cleared.map { newName($0, role) }
    }
    for (index, step) in registers.enumerated() {
      let role = UndoSuccessors.Role.register(step.field)
      group.registers[index].writer = newName(step.writer, role)
      group.registers[index].beforeWriter = step.beforeWriter.map { newName($0, role) }
    }
    for index in messagePlaces.indices {
      group.messagePlaces[index].rename { newName($0, .slot) }
    }
    for index in threadPlaces.indices { group.threadPlaces[index].rename { newName($0, .slot) } }
    for (index, step) in queuedAt.enumerated() {
      group.queuedAt[index].writer = newName(step.writer, .queuedAt)
      group.queuedAt[index].beforeWriter = newName(step.beforeWriter, .queuedAt)
    }
    for (index, step) in self.texts.enumerated() where texts(step.content) {
      group.texts[index] = step.renamed { newName($0, .scalar(of: step.content)) }
    }
    return group
  }

  /// The same group after operations were made anew under other ids.
  func renamed(_ newID: (OperationID) -> OperationID) -> UndoGroup {
    var group = renamed { id, _ in
      newID(id)
    } texts: { _ in
      true
    }
    for (index, step) in texts.enumerated() { group.texts[index].content = newID(step.content) }
    return group
  }
}

extension UndoGroup.PlaceStep {
  fileprivate mutating func rename(_ newID: (OperationID) -> OperationID) {
    slot = newID(slot)
    writer = newID(writer)
  }
}

extension UndoGroup.TextStep {
  fileprivate var scalarCount: Int {
    inserted.reduce(0) { $0 + $1.count } + deleted.reduce(0) { $0 + $1.range.count }
  }

  /// The step with other names for its scalars.
  func renamed(_ newID: (OperationID) -> OperationID) -> Self {
    var step = self
    step.inserted =
      OperationSet(
        inserted.flatMap { UndoGroup.TextStep.renamed($0, newID) }
      ).ranges
    step.deleted = deleted.flatMap { stretch -> [UndoGroup.DeletedText] in
      let scalars = Array(stretch.text.unicodeScalars)
      var start = 0
      return UndoGroup.TextStep.renamed(stretch.range, newID).map { range in
        let end = min(start + range.count, scalars.count)
        defer { start = end }
        return UndoGroup.DeletedText(
          range: range, text: String(String.UnicodeScalarView(scalars[start..<end])),
          left: stretch.left.map(newID), right: stretch.right.map(newID))
      }
    }
    return step
  }

  /// The new names of consecutive ids, as stretches that are consecutive again.
  private static func renamed(
    _ range: OperationRange, _ newID: (OperationID) -> OperationID
  ) -> [OperationRange] {
    var ranges: [OperationRange] = []
    for seq in range.first...range.last {
      let id = newID(OperationID(replica: range.replica, seq: seq))
      if let last = ranges.last, last.replica == id.replica, last.last &+ 1 == id.seq {
        ranges[ranges.count - 1].last = id.seq
      } else {
        ranges.append(OperationRange(replica: id.replica, first: id.seq, last: id.seq))
      }
    }
    return ranges
  }
}

extension UndoGroup.DeletedText {
  /// The part whose ids are in the range.
  fileprivate func part(_ part: OperationRange) -> UndoGroup.DeletedText {
    let scalars = text.unicodeScalars.dropFirst(Int(part.first - range.first)).prefix(part.count)
    return UndoGroup.DeletedText(
      range: part, text: String(String.UnicodeScalarView(scalars)), left: left, right: right)
  }
}
