import DeltaCodec
package import QueueModel

/// The numbers that name epochs; SPECIFICATION.md, section "Compaction".
///
/// The upper half counts compactions, the lower half is the CRC-32 of the base, so that two bases
/// never share a name, not even where a server was restored and compacted again.
package enum EpochName {
  /// The epoch before the first compaction.
  package static let none: UInt64 = 0
  /// The epoch of a device's state that is no server's: whoever says so in `hello` gets a snapshot.
  package static let own: UInt64 = .max

  /// The name of the epoch that follows another and starts with a base.
  ///
  /// - Complexity: O(image).
  package static func following(_ epoch: UInt64, base: WorkspaceImage) -> UInt64 {
    let count = min(count(epoch), UInt64(UInt32.max) - 1) + 1
    return count << 32 | UInt64(digest(of: base))
  }

  /// How many compactions led to the epoch.
  package static func count(_ epoch: UInt64) -> UInt64 { epoch >> 32 }

  /// Whether the epoch starts with this base.
  ///
  /// - Complexity: O(image).
  package static func isName(_ epoch: UInt64, ofBase image: WorkspaceImage) -> Bool {
    epoch & UInt64(UInt32.max) == UInt64(digest(of: image))
  }

  private static func digest(of image: WorkspaceImage) -> UInt32 {
    Checksum.crc32(SnapshotCodec.encode(image))
  }
}
