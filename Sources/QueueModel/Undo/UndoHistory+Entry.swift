extension UndoHistory {
  /// A change with the number under which it is stored; numbers increase.
  package struct Entry: Hashable, Sendable {
    /// Copies of an entry share the change, because a history has a thousand entries and each
    /// command moves them.
    private final class Content: Sendable {
      let change: UndoEntry

      init(_ change: UndoEntry) {
        self.change = change
      }
    }

    package var number: Int64
    package var isUndone: Bool
    private var content: Content

    package init(number: Int64, isUndone: Bool, change: UndoEntry) {
      self.number = number
      self.isUndone = isUndone
      content = Content(change)
    }

    /// An entry without a change.
    static let forgotten = Entry(
      number: 0, isUndone: false,
      change: UndoEntry(label: UndoLabel(kind: .edited), milliseconds: 0))

    package var change: UndoEntry {
      get { content.change }
      set { content = Content(newValue) }
    }

    package static func == (first: Entry, second: Entry) -> Bool {
      first.number == second.number && first.isUndone == second.isUndone
        && first.change == second.change
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(number)
      hasher.combine(isUndone)
      hasher.combine(change)
    }
  }
}
