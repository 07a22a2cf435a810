import SequenceCRDT

/// Changes to letters that devices make automatically, without a user's edit.
extension [Operation] {
  /// The operations that change the letters to the text that an agent gets, after the start of its
  /// attempt, and those that forget the text of an ended message.
  ///
  /// - Complexity: O(operations), and O(text) of each message that has ended.
  func tidied(in workspace: Workspace) -> Set<Int> {
    var tidied: Set<Int> = []
    var index = startIndex
    while index < endIndex {
      var end = index + 1
      guard self[index].isOfLetters, let message = self[index].message(in: workspace) else {
        index = end
        continue
      }
      while end < endIndex, self[end].isOfLetters, self[end].follows(self[end - 1]),
        self[end].message(in: workspace) == message
      {
        end += 1
      }
      let letters = index..<end
      index = end
      if settleRanText(letters) || forget(letters, of: message, in: workspace) {
        tidied.formUnion(letters)
      }
    }
    return tidied
  }

  /// Whether an attempt starts before these letters, and an edition with the text for its agent
  /// follows them.
  private func settleRanText(_ letters: Range<Int>) -> Bool {
    guard letters.lowerBound > startIndex, letters.upperBound < endIndex,
      self[letters.lowerBound].follows(self[letters.lowerBound - 1]),
      self[letters.upperBound].follows(self[letters.upperBound - 1]),
      case .setRegister(_, .run, _, _) = self[letters.lowerBound - 1].body,
      case .addTag(_, .edition, _, let note) = self[letters.upperBound].body
    else { return false }
    return Edition(note: note).attempt != nil
  }

  /// Whether these letters are removed because the message is forgotten, and not because a user
  /// saved a text without them.
  private func forget(
    _ letters: Range<Int>, of message: MessageID, in workspace: Workspace
  ) -> Bool {
    guard letters.allSatisfy({ self[$0].deletesLetters }), workspace.isForgotten(message) else {
      return false
    }
    guard letters.upperBound < endIndex,
      self[letters.upperBound].follows(self[letters.upperBound - 1]),
      case .addTag(_, .edition, _, _) = self[letters.upperBound].body
    else { return true }
    return false
  }
}

extension Operation {
  /// Whether it makes or deletes letters of a message, or marks a long change to them.
  fileprivate var isOfLetters: Bool {
    switch body {
    case .insertText, .deleteText, .addTag(_, .incomplete, _, _), .clearTags(_, .incomplete, _):
      true
    default: false
    }
  }

  fileprivate var deletesLetters: Bool { if case .deleteText = body { true } else { false } }

  /// Whether it was made directly after another one.
  fileprivate func follows(_ other: Operation) -> Bool {
    guard let range, let before = other.range else { return false }
    return range.replica == before.replica && before.last &+ 1 == range.first
  }
}
