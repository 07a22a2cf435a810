/// One incarnation of a device's store: a random 64-bit number, never reused.
///
/// A restored or cloned store takes a new replica id, so that an operation id never names two
/// different operations.
public struct ReplicaID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number; 0 is reserved and never a replica.
  public var rawValue: UInt64

  /// Wraps a number drawn at random by the caller.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Orders by number; the order breaks ties between concurrent operations.
  public static func < (left: ReplicaID, right: ReplicaID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The name of one operation: its replica, and its place in that replica's dense count from 1.
///
/// Slots and text scalars carry the id of the operation that inserted them.
public struct OperationID: Hashable, Comparable, Sendable {
  /// The author.
  public var replica: ReplicaID
  /// Counts the author's operations from 1, without gaps.
  public var seq: UInt32

  /// Names operation number `seq` of `replica`.
  public init(replica: ReplicaID, seq: UInt32) {
    self.replica = replica
    self.seq = seq
  }

  /// Orders by replica, then by sequence number.
  public static func < (left: OperationID, right: OperationID) -> Bool {
    (left.replica, left.seq) < (right.replica, right.seq)
  }

  /// The id `distance` places later in the same replica, or nil if none can exist.
  package func advanced(by distance: Int) -> OperationID? {
    let (sum, overflow) = Int64(seq).addingReportingOverflow(Int64(distance))
    guard !overflow, sum >= 1, let seq = UInt32(exactly: sum) else { return nil }
    return OperationID(replica: replica, seq: seq)
  }

  /// The number of ids from this one to number `last` of its replica; below 1 if there is none.
  package func count(through last: UInt32) -> Int { Int(clamping: Int64(last) - Int64(seq) + 1) }
}

/// A stretch of consecutive operation ids of one replica.
public struct OperationRange: Hashable, Sendable {
  /// The author.
  public var replica: ReplicaID
  /// The first sequence number, at least 1.
  public var first: UInt32
  /// The last sequence number, at least `first`.
  public var last: UInt32

  /// The ids `first...last` of `replica`.
  public init(replica: ReplicaID, first: UInt32, last: UInt32) {
    precondition(first >= 1 && first <= last, "an operation range is not empty and starts at 1")
    self.replica = replica
    self.first = first
    self.last = last
  }

  /// The number of ids in the range.
  public var count: Int { Int(clamping: Int64(last) - Int64(first) + 1) }

  /// Whether the range holds `id`.
  public func contains(_ id: OperationID) -> Bool {
    id.replica == replica && id.seq >= first && id.seq <= last
  }
}

extension OperationRange: Codable {
  private enum CodingKeys: CodingKey {
    case replica, first, last
  }

  /// Reads a range; throws if it ends before it begins.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    replica = try container.decode(ReplicaID.self, forKey: .replica)
    first = try container.decode(UInt32.self, forKey: .first)
    last = try container.decode(UInt32.self, forKey: .last)
    guard first >= 1, first <= last else {
      throw DecodingError.dataCorruptedError(
        forKey: .last, in: container, debugDescription: "\(first) to \(last) is not a range of ids")
    }
  }
}

extension ReplicaID: Codable {}
extension OperationID: Codable {}
