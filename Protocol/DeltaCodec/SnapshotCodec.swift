package import QueueModel

/// A workspace's state as bytes and back; SPECIFICATION.md, section "Snapshot".
///
/// Equal images give equal bytes.
package enum SnapshotCodec {
  /// - Precondition: messages stand at slots of their session, in order.
  package static func encode(_ image: WorkspaceImage) -> [UInt8] {
    encodeParts(image).bytes
  }

  /// The same, with the ends of the parts that are alike inside.
  package static func encodeParts(_ image: WorkspaceImage) -> EncodedBody {
    SnapshotEncoder.encode(image)
  }

  /// Reads a snapshot of any layout.
  ///
  /// Checks form, order and indexes; whether the state makes sense is the workspace's matter.
  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> WorkspaceImage {
    var reader = ByteReader(bytes)
    switch try reader.number() {
    case SnapshotFormat.layout:
      return try SnapshotDecoder(reader, budget: budget).image()
    case SnapshotFormat.firstLayout:
      return try FirstSnapshotDecoder.decode(reader, budget: budget)
    case let layout:
      throw DecodingFault(.unsupported, at: 0, "snapshot layout \(layout) is unknown here: update")
    }
  }
}
