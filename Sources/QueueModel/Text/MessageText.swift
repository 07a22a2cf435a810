import SequenceCRDT

/// The text that an addition introduced: packed until it is edited.
///
/// Most texts are written once and read. A text that is open for edits is about ten times as large.
enum MessageText: Sendable {
  /// Scalars with consecutive ids that were inserted together; all of them are visible.
  case plain(first: OperationID, text: String)
  case packed(PackedText)
  case open(TextContent)

  /// A text without insertions.
  init() {
    self = .open(TextContent())
  }

  /// Restores a text from its runs in order and the text of the visible ones; it is packed.
  ///
  /// - Throws: `SequenceFault` if the runs are wrong or do not fit the text.
  init(runs: [RunSequence.Run], text: String) throws(SequenceFault) {
    if let first = runs.first, MessageText.isPlain(runs), first.id.seq >= 1,
      (1...TextContent.unitsMax).contains(first.length),
      first.id.advanced(by: first.length - 1) != nil, text.unicodeScalars.count == first.length
    {
      self = .plain(first: first.id, text: text)
      return
    }
    // Creating the sequence is the only check whether other runs make one.
    self = .open(try TextContent(runs: runs, text: text))
    pack()
  }

  /// The visible text.
  var string: String {
    switch self {
    case .plain(_, let text): text
    case .packed(let packed): packed.text
    case .open(let content): content.text
    }
  }

  /// The runs in order, as long as possible.
  var canonicalRuns: [RunSequence.Run] {
    switch self {
    case .plain(let first, let text):
      [
        RunSequence.Run(
          id: first, length: text.unicodeScalars.count, left: nil, right: nil, isVisible: true)
      ]
    case .packed(let packed): packed.runs
    case .open(let content): content.sequence.canonicalRuns
    }
  }

  /// The text with its structure.
  ///
  /// - Complexity: O(runs · log runs) if it is packed.
  var content: TextContent {
    get {
      if case .open(let content) = self { return content }
      do {
        return try TextContent(runs: canonicalRuns, text: string)
      } catch {
        preconditionFailure("what was packed from a text makes that text: \(error)")
      }
    }
    set { self = .open(newValue) }
  }

  /// Whether there is structure to be packed.
  var isOpen: Bool {
    if case .open(let content) = self { content.sequence.unitCount > 0 } else { false }
  }

  /// Inserts scalars with consecutive ids.
  ///
  /// - Throws: `SequenceFault`, without changing anything.
  mutating func insert(
    id: OperationID, text: String, origins: Operation.Origins
  ) throws(SequenceFault) {
    if case .open(let content) = self, content.sequence.unitCount == 0, !text.isEmpty,
      origins.left == nil, origins.right == nil
    {
      self = .plain(first: id, text: text)
      return
    }
    try change { content throws(SequenceFault) in
      try content.insert(id: id, text: text, left: origins.left, right: origins.right)
    }
  }

  /// Deletes the scalars `first … first + count − 1`.
  ///
  /// - Throws: `SequenceFault` if one of them is not here; in that case, nothing changes.
  mutating func delete(first: OperationID, count: Int) throws(SequenceFault) {
    try change { content throws(SequenceFault) in
      try content.delete(first: first, count: count)
    }
  }

  /// Changes the text, which stays open.
  private mutating func change<Result>(
    _ body: (inout TextContent) throws(SequenceFault) -> Result
  ) throws(SequenceFault) {
    var content = content
    // The changed value must have the only reference.
    self = MessageText()
    defer { self = .open(content) }
    _ = try body(&content)
  }

  /// Packs an open text.
  ///
  /// - Complexity: O(runs).
  mutating func pack() {
    guard case .open(let content) = self else { return }
    let runs = content.sequence.canonicalRuns
    guard let first = runs.first else { return }
    self =
      MessageText.isPlain(runs)
      ? .plain(first: first.id, text: content.text)
      : .packed(PackedText(runs: runs, text: content.text))
  }

  private static func isPlain(_ runs: [RunSequence.Run]) -> Bool {
    guard let first = runs.first, runs.count == 1 else { return false }
    return first.isVisible && first.left == nil && first.right == nil
  }
}
