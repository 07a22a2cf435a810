package import QueueModel

/// Encodes a workspace's state as bytes, and decodes it; SPECIFICATION.md, section "Snapshot".
///
/// Equal images give equal bytes.
package enum SnapshotCodec {
  /// - Precondition: messages are at slots of their session, in order.
  package static func encode(_ image: WorkspaceImage) -> [UInt8] {
    encodeParts(image).bytes
  }

  /// The same, with the ends of parts that have similar content.
  package static func encodeParts(_ image: WorkspaceImage) -> EncodedBody {
    SnapshotEncoder.encode(image)
  }

  /// The snapshot of a workspace; the bytes of sessions that are unchanged since it was opened are
  /// copied.
  package static func encodeParts(_ workspace: Workspace) -> EncodedBody {
    SnapshotEncoder.encode(workspace)
  }

  /// Opens a snapshot that this program wrote: sessions stay packed until they are used.
  ///
  /// Everything except their runs is checked now.
  ///
  /// - Parameter reader: at the number of the layout.
  package static func open(
    _ reader: ByteReader, budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> Workspace {
    var reader = reader
    let offset = reader.position
    let layout = try reader.number()
    guard layout == SnapshotFormat.layout else { throw unknown(layout, at: offset) }
    let snapshot = try SnapshotDecoder(reader, budget: budget)
    var own = try snapshot.part(0)
    let (replicas, threadSlots) = try own.readWorkspace()
    let sessions = SnapshotSessions(snapshot, known: replicas)
    try sessions.checkKnown(own)
    let summaries = try sessions.summaries()
    do {
      return try Workspace(
        replicas: replicas, threadSlots: threadSlots, sessions: sessions, summaries: summaries)
    } catch {
      throw DecodingFault(.invalidValue, at: offset, "\(error)")
    }
  }

  /// Packs the unpacked sessions of a workspace, as if it were written and opened again.
  ///
  /// - Complexity: O(state), or a copy of the bytes for sessions that are already packed.
  package static func pack(_ workspace: inout Workspace) {
    guard workspace.hasUnpackedSessions else { return }
    let bytes = encodeParts(workspace).bytes
    do {
      var reader = ByteReader(bytes)
      _ = try reader.number()
      let snapshot = try SnapshotDecoder(reader, budget: .snapshot)
      let sessions = SnapshotSessions(snapshot, known: workspace.imageReplicas)
      try workspace.pack(into: sessions, summaries: try sessions.summaries())
    } catch {
      // A state that exceeds a limit of snapshots stays unpacked.
    }
  }

  private static func unknown(_ layout: UInt64, at offset: Int) -> DecodingFault {
    DecodingFault(.unsupported, at: offset, "snapshot layout \(layout) is unknown here: update")
  }

  /// Reads a snapshot.
  ///
  /// Checks form, order and indexes; the workspace checks the meaning.
  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> WorkspaceImage {
    var reader = ByteReader(bytes)
    switch try reader.number() {
    case SnapshotFormat.layout:
      return try SnapshotDecoder(reader, budget: budget).image()
    case let layout:
      throw unknown(layout, at: 0)
    }
  }
}
