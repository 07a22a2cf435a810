import DeltaCodec
package import QueueModel

/// A snapshot as it is stored and sent, in an envelope.
package enum PackedSnapshot {
  /// For the wire: compressed if that makes it shorter.
  package static func pack(_ image: WorkspaceImage) -> [UInt8] {
    Envelope.snapshot.wrap(SnapshotCodec.encodeParts(image))
  }

  /// For the wire; the bytes of sessions that are unchanged since the workspace was opened are
  /// copied.
  package static func pack(_ workspace: Workspace) -> [UInt8] {
    Envelope.snapshot.wrap(SnapshotCodec.encodeParts(workspace))
  }

  /// For a local file: not compressed, so that it opens at once.
  package static func packRaw(_ image: WorkspaceImage) -> [UInt8] {
    Envelope.snapshot.wrapRaw(SnapshotCodec.encode(image))
  }

  /// For a local file; the bytes of sessions that are unchanged since the workspace was opened are
  /// copied.
  package static func packRaw(_ workspace: Workspace) -> [UInt8] {
    Envelope.snapshot.wrapRaw(SnapshotCodec.encodeParts(workspace).bytes)
  }

  /// Reads a complete snapshot, from an untrusted source.
  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> WorkspaceImage {
    let body = try Envelope.snapshot.unwrap(bytes)
    do {
      return try SnapshotCodec.decode(body)
    } catch {
      throw WireError(error)
    }
  }

  /// Opens a snapshot that this program wrote: sessions stay packed until they are used.
  ///
  /// Checks everything except the runs of the sessions; see `Workspace.thawed`.
  package static func open(_ bytes: [UInt8]) throws(WireError) -> Workspace {
    let body = try Envelope.snapshot.openBody(of: bytes)
    do {
      return try SnapshotCodec.open(body)
    } catch {
      throw WireError(error)
    }
  }
}
