import DeltaCodec
package import QueueModel

/// A snapshot as it is stored and sent, in an envelope.
package enum PackedSnapshot {
  /// For the wire: compressed if that makes it shorter.
  package static func pack(_ image: WorkspaceImage) -> [UInt8] {
    Envelope.snapshot.wrap(SnapshotCodec.encodeParts(image))
  }

  /// For the wire; what nothing touched since the workspace was opened is not encoded again.
  package static func pack(_ workspace: Workspace) -> [UInt8] {
    Envelope.snapshot.wrap(SnapshotCodec.encodeParts(workspace))
  }

  /// For a local file: not compressed, so that it opens at once.
  package static func packRaw(_ image: WorkspaceImage) -> [UInt8] {
    Envelope.snapshot.wrapRaw(SnapshotCodec.encode(image))
  }

  /// For a local file; what nothing touched since the workspace was opened is not encoded again.
  package static func packRaw(_ workspace: Workspace) -> [UInt8] {
    Envelope.snapshot.wrapRaw(SnapshotCodec.encodeParts(workspace).bytes)
  }

  /// Reads all of a snapshot; for those from elsewhere.
  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> WorkspaceImage {
    let body = try Envelope.snapshot.unwrap(bytes)
    do {
      return try SnapshotCodec.decode(body)
    } catch {
      throw WireError(error)
    }
  }

  /// Opens a snapshot that this program wrote: sessions stay packed until something touches them.
  ///
  /// Checks everything but the runs of the sessions; see `Workspace.thawed`.
  package static func open(_ bytes: [UInt8]) throws(WireError) -> Workspace {
    let body = try Envelope.snapshot.openBody(of: bytes)
    do {
      return try SnapshotCodec.open(body)
    } catch {
      throw WireError(error)
    }
  }
}
