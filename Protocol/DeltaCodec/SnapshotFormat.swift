import QueueModel
import SequenceCRDT

/// The numbers of the snapshot format; SPECIFICATION.md, section "Snapshot".
enum SnapshotFormat {
  /// The first field, the number of the layout.
  static let layout: UInt64 = 1

  /// The streams, in the order in which they are written and in which the directory lists their
  /// parts.
  enum Stream: Int, CaseIterable {
    case numbers, runs, identifiers, texts
  }

  /// The base of predicted references: the last id of each kind, per replica.
  enum Kind: Int, CaseIterable {
    case element, tag, writer, slot, origin
  }

  /// Bits 0 and 1 of a run's shape.
  enum LeftTag {
    static let start: UInt8 = 0
    /// The last unit of the previous run.
    static let runBefore: UInt8 = 1
    static let explicit: UInt8 = 2
  }

  /// Bits 2 and 3 of a run's shape.
  enum RightTag {
    static let end: UInt8 = 0
    /// The first unit of the next run.
    static let runBehind: UInt8 = 1
    static let explicit: UInt8 = 2
    /// The right origin of the previous run.
    static let previous: UInt8 = 3
  }

  /// Bit 4 of a text run's shape.
  static let visible: UInt8 = 0x10

  /// The contents of a session, in one byte.
  enum SessionFlag {
    static let threadPosition: UInt8 = 1
    static let enqueued: UInt8 = 2
    /// The latest `enqueueThread` is the thread's position.
    static let enqueuedThere: UInt8 = 4
    /// Every slot is the one at which its message was added, at the time of its stamp, after the
    /// previous one; none is dead.
    static let plainSlots: UInt8 = 8
  }

  /// The differences between a message and a newly added one, in one byte.
  enum MessageForm {
    static let tags: UInt8 = 0x03
    static let noTags: UInt8 = 0
    /// One `live` tag, added by the first addition.
    static let addedTag: UInt8 = 1
    static let explicitTags: UInt8 = 2

    static let registers: UInt8 = 0x0C
    /// Only the priority, normal, as the first addition wrote it.
    static let addedNormal: UInt8 = 0
    static let addedUrgent: UInt8 = 4
    static let explicitRegisters: UInt8 = 8

    /// Dead slots before its own, and a stamp other than the first addition's.
    static let explicitPosition: UInt8 = 0x10
    static let severalAdditions: UInt8 = 0x20
    /// The bit at which the first addition's text form begins.
    static let textShift: UInt8 = 6
  }

  /// The state that both sides keep from reference to reference within a part.
  struct Context {
    /// The kinds of the first replica, of the second, and so on.
    private var focuses: [Int64] = []
    private var lastReplicas = [Int](repeating: 0, count: Kind.allCases.count)
    /// The highest sequence number of each replica so far; 0 if there was none.
    private(set) var highest: [Int64] = []
    /// Milliseconds since 1970.
    var milliseconds = DeltaFormat.epochMilliseconds

    private static let kindCount = Kind.allCases.count

    /// Makes room for another replica of the part's table.
    mutating func addReplica() {
      focuses.append(contentsOf: repeatElement(0, count: Context.kindCount))
      highest.append(0)
    }

    /// The sequence number that references of a kind to a replica count from.
    func focus(_ kind: Kind, _ replica: Int) -> Int64 {
      focuses[replica * Context.kindCount + kind.rawValue]
    }

    func lastReplica(_ kind: Kind) -> Int {
      lastReplicas[kind.rawValue]
    }

    /// Records a reference. The first one to a replica counts for all kinds.
    mutating func note(_ kind: Kind, _ replica: Int, _ seq: Int64) {
      expect(kind, replica, seq)
      if highest[replica] == 0 {
        for kind in Kind.allCases { focuses[replica * Context.kindCount + kind.rawValue] = seq }
      }
      cover(replica, seq)
    }

    /// Records an id that is implied.
    mutating func cover(_ replica: Int, _ seq: Int64) {
      highest[replica] = max(highest[replica], seq)
    }

    /// Makes the next reference of a kind count from an implied id.
    mutating func expect(_ kind: Kind, _ replica: Int, _ seq: Int64) {
      lastReplicas[kind.rawValue] = replica
      focuses[replica * Context.kindCount + kind.rawValue] = seq
    }
  }
}
