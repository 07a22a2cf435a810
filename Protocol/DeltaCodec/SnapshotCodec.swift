package import QueueModel

/// A workspace's state as bytes and back; SPECIFICATION.md, section "Snapshot".
///
/// Equal images give equal bytes.
package enum SnapshotCodec {
  /// - Precondition: every replica that the image names is among its `replicas`.
  package static func encode(_ image: WorkspaceImage) -> [UInt8] {
    encodeParts(image).bytes
  }

  /// The same, with the ends of the parts that are alike inside.
  package static func encodeParts(_ image: WorkspaceImage) -> EncodedBody {
    SnapshotEncoder.encode(image)
  }

  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> WorkspaceImage {
    try SnapshotDecoder.decode(bytes, budget: budget)
  }
}

/// The numbers of the snapshot format.
enum SnapshotFormat {
  /// The first field: another layout has another number.
  static let layout: UInt64 = 1

  /// What references are predicted from: the last id of each kind, per replica.
  enum Focus: Int, CaseIterable {
    case slot, tag, element, writer
  }

  /// Bits 0 and 1 of a run's shape.
  enum LeftTag {
    static let start: UInt8 = 0
    /// The last unit of the run before.
    static let runBefore: UInt8 = 1
    static let explicit: UInt8 = 2
  }

  /// Bits 2 and 3 of a run's shape.
  enum RightTag {
    static let end: UInt8 = 0
    /// The first unit of the run behind.
    static let runBehind: UInt8 = 1
    static let explicit: UInt8 = 2
    /// The right origin of the run before.
    static let previous: UInt8 = 3
  }

  /// Bit 4 of a text run's shape.
  static let visible: UInt8 = 0x10

  /// What both sides remember from reference to reference.
  struct Context {
    private var focuses: [[Int]]
    private var lastReplicas: [Int]
    /// Milliseconds since 1970.
    var milliseconds = DeltaFormat.epochMilliseconds
    var messageSession = 0

    init(replicaCount: Int) {
      focuses = Array(
        repeating: Array(repeating: 0, count: replicaCount), count: Focus.allCases.count)
      lastReplicas = Array(repeating: 0, count: Focus.allCases.count)
    }

    subscript(focus: Focus, replica: Int) -> Int {
      get { focuses[focus.rawValue][replica] }
      set { focuses[focus.rawValue][replica] = newValue }
    }

    subscript(lastReplica focus: Focus) -> Int {
      get { lastReplicas[focus.rawValue] }
      set { lastReplicas[focus.rawValue] = newValue }
    }
  }
}
