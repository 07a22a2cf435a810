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

  /// The same group with other names for the operations it speaks of.
  func renamed(_ newID: (OperationID) -> OperationID) -> UndoGroup {
    var group = self
    for index in tags.indices {
      group.tags[index].put = tags[index].put.map(newID)
      group.tags[index].cleared = tags[index].cleared.map(newID)
    }
    for index in registers.indices {
      group.registers[index].writer = newID(registers[index].writer)
    }
    group.messagePlaces = messagePlaces.map { $0.renamed(newID) }
    group.threadPlaces = threadPlaces.map { $0.renamed(newID) }
    for index in queuedAt.indices { group.queuedAt[index].writer = newID(queuedAt[index].writer) }
    group.texts = texts.map { $0.renamed(newID) }
    return group
  }
}

extension UndoGroup.PlaceStep {
  fileprivate func renamed(_ newID: (OperationID) -> OperationID) -> Self {
    var step = self
    step.slot = newID(slot)
    step.writer = newID(writer)
    return step
  }
}

extension UndoGroup.TextStep {
  fileprivate var scalarCount: Int {
    inserted.reduce(0) { $0 + $1.count } + deleted.reduce(0) { $0 + $1.range.count }
  }

  fileprivate func renamed(_ newID: (OperationID) -> OperationID) -> Self {
    var step = self
    step.content = newID(content)
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
