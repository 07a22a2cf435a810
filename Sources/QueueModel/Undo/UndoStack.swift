import SequenceCRDT

/// Groups that can be undone, or redone, the latest last.
///
/// In chunks, since a history is copied with every command: what is shared with the copy is not
/// touched, and a change copies one chunk. Each chunk knows the names that its groups speak of, so
/// that those which speak of a name are found without looking at all of them.
package struct UndoStack: Sendable {
  package typealias Entry = UndoHistory.Entry

  private struct Chunk {
    var entries: [Entry] = []
    /// The names that the groups speak of; may hold some that they do not any more.
    private(set) var names: Set<OperationID> = []
    /// So many names, and they are gathered anew.
    private var namesMax = UndoStack.namesWithoutGathering

    mutating func note(_ group: UndoGroup) {
      group.forEachName { names.insert($0) }
      guard names.count > namesMax else { return }
      names = []
      for entry in entries { entry.group.forEachName { names.insert($0) } }
      namesMax = Swift.max(UndoStack.namesWithoutGathering, 2 * names.count)
    }

    mutating func append(_ entry: Entry) {
      entries.append(entry)
      note(entry.group)
    }

    mutating func replace(_ index: Int, by entry: Entry) {
      entries[index] = entry
      note(entry.group)
    }
  }

  private static let chunkCountMax = 32
  private static let namesWithoutGathering = 1_024

  private var chunks: [Chunk] = []
  package private(set) var count = 0

  init() {}

  init(_ entries: some Sequence<Entry>) {
    for entry in entries { append(entry) }
  }

  package var isEmpty: Bool { count == 0 }
  package var first: Entry? { chunks.first?.entries.first }
  package var last: Entry? { chunks.last?.entries.last }

  /// - Complexity: O(the chunk and what the group speaks of).
  mutating func append(_ entry: Entry) {
    if chunks.last.map({ $0.entries.count >= UndoStack.chunkCountMax }) ?? true {
      chunks.append(Chunk())
    }
    chunks[chunks.count - 1].append(entry)
    count += 1
  }

  mutating func popLast() -> Entry? {
    guard let entry = last else { return nil }
    chunks[chunks.count - 1].entries.removeLast()
    if chunks[chunks.count - 1].entries.isEmpty { chunks.removeLast() }
    count -= 1
    return entry
  }

  mutating func popFirst() -> Entry? {
    guard let entry = first else { return nil }
    chunks[0].entries.removeFirst()
    if chunks[0].entries.isEmpty { chunks.removeFirst() }
    count -= 1
    return entry
  }

  /// Puts others in the place of some.
  ///
  /// - Parameters:
  ///   - names: those of which a group has to speak of one; nil where all are to be looked at. A chunk
  ///     that speaks of none is passed over.
  ///   - body: what an entry becomes; nil where it stays as it is.
  mutating func change(
    speakingOf names: Set<OperationID>? = nil, _ body: (Entry) -> Entry?
  ) {
    for place in chunks.indices {
      if let names, names.isDisjoint(with: chunks[place].names) { continue }
      for index in chunks[place].entries.indices {
        let entry = chunks[place].entries[index]
        if let names, !entry.group.speaks(of: names) { continue }
        guard let fresh = body(entry) else { continue }
        chunks[place].replace(index, by: fresh)
      }
    }
  }
}

extension UndoStack: Sequence {
  package func makeIterator() -> some IteratorProtocol<Entry> {
    chunks.lazy.flatMap(\.entries).makeIterator()
  }
}

extension UndoStack: Hashable {
  package static func == (left: UndoStack, right: UndoStack) -> Bool {
    left.count == right.count && left.elementsEqual(right)
  }

  package func hash(into hasher: inout Hasher) {
    for entry in self { hasher.combine(entry) }
  }
}
