import DeltaCodec
package import QueueModel

/// A snapshot as it is stored and sent: in an envelope, compressed where that makes it shorter.
package enum PackedSnapshot {
  package static func pack(_ image: WorkspaceImage) -> [UInt8] {
    Envelope.snapshot.wrap(SnapshotCodec.encodeParts(image))
  }

  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> WorkspaceImage {
    let body = try Envelope.snapshot.unwrap(bytes)
    do {
      return try SnapshotCodec.decode(body)
    } catch {
      throw WireError(error)
    }
  }
}
