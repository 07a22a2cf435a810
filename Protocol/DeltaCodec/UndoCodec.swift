package import QueueModel

/// What takes a command back, as bytes for a device's own disk. No other program reads them.
///
/// ```text
/// layout 1 · replicas: count, 8 bytes each · kind · time · count of items
/// session + 1 byte, or 0 · message + 1 byte, or 0 · which lists follow · the lists
/// ```
///
/// Numbers, texts and identifiers are those of the delta; a list is a count and its steps. An
/// operation is the number of its replica in the table, from 1, and its sequence number; 0 is none.
/// Bytes of another layout are refused, not guessed at: what is undone must fit what was done.
package enum UndoCodec {
  static let layout: UInt8 = 1

  /// Which of a group's lists are not empty, one bit each, in the order of writing.
  struct Lists: OptionSet {
    var rawValue: UInt8

    static let tags = Lists(rawValue: 1)
    static let registers = Lists(rawValue: 2)
    static let messagePlaces = Lists(rawValue: 4)
    static let threadPlaces = Lists(rawValue: 8)
    static let queuedAt = Lists(rawValue: 16)
    static let texts = Lists(rawValue: 32)
    static let replacements = Lists(rawValue: 64)
    static let all = Lists(rawValue: 127)
  }

  /// The kinds by their number in the bytes; only ever added to at the end.
  static let kinds: [UndoLabel.Kind] = [
    .sent, .edited, .moved, .cancelled, .restored, .cleared, .prioritized, .attached, .detached,
    .paused, .resumed, .addedSession, .renamedSession, .deletedSession, .addedThreads,
    .movedThread, .removedThreads, .clearedThreads, .unlockedThread, .imported,
  ]

  /// - Complexity: O(bytes written).
  package static func encode(_ group: UndoGroup) -> [UInt8] {
    var encoder = UndoEncoder()
    encoder.write(group)
    return encoder.finish()
  }

  /// Reads what `encode` wrote; takes no more memory than a multiple of the bytes.
  ///
  /// - Throws: `DecodingFault` where the bytes are anything else.
  package static func decode(_ bytes: [UInt8]) throws(DecodingFault) -> UndoGroup {
    var decoder = UndoDecoder(bytes)
    return try decoder.readGroup()
  }
}
