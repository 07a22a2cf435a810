import QueueModel

/// The numbers of the delta format; SPECIFICATION.md, section "Delta".
///
/// Sequence numbers are computed in 64 bits: intermediate results may exceed the maximum, which an
/// `Int` of 32 bits could not hold.
enum DeltaFormat {
  /// Up to this many rows, the fields of each row are written together; with more, each field has
  /// its column.
  static let rowsInRowFormMax = 24
  /// 2024-01-01T00:00:00Z in milliseconds since 1970, from which the stamps of a delta count.
  static let epochMilliseconds: Int64 = 1_704_067_200_000
  /// The first stamp's five bytes if the stamp does not fit in them.
  static let longStamp: UInt64 = (1 << 40) - 1
  /// The sequence number of the default session, before a row names one.
  static let firstSession: Int64 = 2
  /// The last sequence number that can be named.
  static let sequenceMax = Int64(Limits.sequenceMax)
  /// Readers may skip unknown columns from this number on.
  static let optionalColumnsFrom: UInt8 = 64

  /// The first byte of a row; ranges hold tags in their low bits.
  enum Head {
    static let announceDevice: UInt8 = 0x01
    static let openSession: UInt8 = 0x02
    static let addTag: UInt8 = 0x03
    static let clearTags: UInt8 = 0x04
    static let setRegister: UInt8 = 0x05
    static let switchReplica: UInt8 = 0x0C
    static let skipSequence: UInt8 = 0x0D
    static let repeatPlacement: UInt8 = 0x0E
    static let timeDifference: UInt8 = 0x0F
    static let addMessage: UInt8 = 0x10
    static let enqueueThread: UInt8 = 0x20
    static let deleteText: UInt8 = 0x40
    static let placeThread: UInt8 = 0x60
    static let insertText: UInt8 = 0x80
    static let placeMessage: UInt8 = 0xC0
  }

  /// The place of the left origin: bits 0 and 1 of a head.
  enum LeftTag {
    static let focus: UInt8 = 0
    static let start: UInt8 = 1
    static let explicit: UInt8 = 2
  }

  /// The place of the right origin: bits 2 and 3 of a head.
  enum RightTag {
    static let end: UInt8 = 0
    static let besideLeft: UInt8 = 1
    /// Further ahead, in the left origin's replica.
    static let ahead: UInt8 = 2
    static let explicit: UInt8 = 3
  }

  /// The tags that a row clears: two bits of a mode byte.
  enum ClearsTag {
    static let none: UInt8 = 0
    /// One: the left origin, or the element if the row has no origins.
    static let neighbour: UInt8 = 1
    /// One: the session; or, for `locked`, the same list as for `queued`.
    static let same: UInt8 = 2
    static let list: UInt8 = 3
  }

  /// The columns of the column form; in the row form all fields share one stream.
  enum Column: Int, CaseIterable {
    case heads, structure, modes, messages, sessions, lefts, rights, targets, counts, times
    case counters, clears, identifiers, values, strings, texts

    static let count = allCases.count
  }

  /// The base of predicted references: the last id of each kind, per replica.
  enum Focus: Int, CaseIterable {
    case text, messageSlot, threadSlot, message, session, tag

    static let count = allCases.count
  }

  /// An operation id with its replica as an index into the delta's table.
  struct LocalID: Hashable {
    var replica: Int
    var seq: Int64
  }

  /// The state that both sides keep from row to row.
  struct Context {
    /// One for each focus of the first replica, then of the second, and so on.
    private var focuses: [Int64]
    /// The default sequence number of each replica's next row.
    var nextSequences: [Int64]
    var author = 0
    /// The message of the text rows.
    var message: LocalID?
    var session = LocalID(replica: 0, seq: DeltaFormat.firstSession)
    /// Milliseconds since 1970.
    var milliseconds: Int64?
    var counter: UInt16 = 0
    /// The difference between the times of slots and the milliseconds of their stamps.
    var timeDifference: Int64 = 0

    /// - Parameter bases: the first sequence number in the table, per replica.
    init(bases: [Int64]) {
      nextSequences = bases
      focuses = bases.flatMap { base in
        Focus.allCases.map { $0 == .session ? DeltaFormat.firstSession : base - 1 }
      }
    }

    subscript(focus: Focus, replica: Int) -> Int64 {
      get { focuses[replica * Focus.count + focus.rawValue] }
      set { focuses[replica * Focus.count + focus.rawValue] = newValue }
    }
  }
}
