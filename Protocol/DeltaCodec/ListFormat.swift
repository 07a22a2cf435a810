import SequenceCRDT

/// The numbers of the list delta; SPECIFICATION.md, section "Lists".
enum ListFormat {
  /// The first byte of a row: the kind in bits 0 and 1, and flags.
  enum Head {
    static let kindMask: UInt8 = 0x03
    static let switchesAuthor: UInt8 = 0x04
    static let skipsSequence: UInt8 = 0x08
    static let hasStamp: UInt8 = 0x10
    static let hasCount: UInt8 = 0x20
    static let holdsTexts: UInt8 = 0x40
    static let unused: UInt8 = 0x80
  }

  /// Where the left origin is: bits 0 and 1 of a shape.
  enum LeftTag {
    /// The slot that the author inserted last.
    static let last: UInt8 = 0
    static let start: UInt8 = 1
    static let explicit: UInt8 = 2
  }

  /// Where the right origin is: bits 2 and 3 of a shape.
  enum RightTag {
    static let end: UInt8 = 0
    static let besideLeft: UInt8 = 1
    static let explicit: UInt8 = 2
    /// The right origin of the unit that was placed before.
    static let same: UInt8 = 3
  }

  enum Column: Int, CaseIterable {
    case heads, structure, counts, times, counters
    case elementReplicas, elements, shapes, leftReplicas, lefts, rightReplicas, rights
    case numbers, strings

    static let count = allCases.count
  }

  /// What both sides remember from row to row.
  struct Context {
    var author = 0
    /// The sequence number each replica's next row has unless it says otherwise.
    var nextSequences: [UInt32]
    /// The element of each replica that was named last.
    var elementFocus: [UInt32]
    /// The slot of each replica that was named last as a left origin, or as a right one where that
    /// is counted from here.
    var slotFocus: [UInt32]
    /// The slot that each replica inserted last.
    var lastSlots: [UInt32]
    var lastRight = ListID.none
    var stamp = Stamp(milliseconds: DeltaFormat.epochMilliseconds)
    var number: Int64 = 0

    /// - Parameter bases: the first sequence number of each replica's rows, or 1.
    init(bases: [UInt32]) {
      nextSequences = bases
      let before = bases.map { $0 - 1 }
      elementFocus = before
      slotFocus = before
      lastSlots = before
    }
  }
}
