import QueueModel
import SequenceCRDT
import WireProtocol

/// Puts together what a device lacks from log entries, or from a packed snapshot.
enum CatchUp {
  /// Log entries as `changes` frames: neighbours are merged into one delta, which compresses better.
  ///
  /// - Returns: nil where an entry is a whole state.
  static func frames(
    for entries: [LogEntry], partBytesMax: Int
  ) throws(StorageFault) -> [[UInt8]]? {
    var frames: [[UInt8]] = []
    var group: [(prefix: LogPrefix, delta: [UInt8])] = []
    var groupBytes = 0
    for (index, entry) in entries.enumerated() {
      guard case .delta(let delta) = entry.content else { return nil }
      group.append((entry.prefix, delta))
      groupBytes += delta.count
      guard groupBytes >= partBytesMax / 2 || index == entries.count - 1 else { continue }
      frames += try self.frames(for: group)
      group = []
      groupBytes = 0
    }
    return frames
  }

  /// One frame, or one for each entry where all of them do not fit into one.
  private static func frames(
    for group: [(prefix: LogPrefix, delta: [UInt8])]
  ) throws(StorageFault) -> [[UInt8]] {
    if group.count > 1, let last = group.last {
      var operations: [Operation] = []
      for entry in group { operations += try unpack(entry.delta, at: entry.prefix.position) }
      let parts = PackedDelta.pack(operations, bytesMax: WireLimits.deltaBytesMax)
      if parts.count == 1 {
        return [
          FrameCodec.encode(.changes(Changes(batch: 0, prefix: last.prefix, delta: parts[0])))
        ]
      }
    }
    return group.map {
      FrameCodec.encode(.changes(Changes(batch: 0, prefix: $0.prefix, delta: $0.delta)))
    }
  }

  /// A packed snapshot as frames.
  static func frames(
    forSnapshot bytes: [UInt8], prefix: LogPrefix, partBytesMax: Int
  ) -> [[UInt8]] {
    SnapshotPart.parts(of: bytes, prefix: prefix, bytesMax: partBytesMax).map {
      FrameCodec.encode(.snapshot($0))
    }
  }

  static func unpack(
    _ delta: [UInt8], at position: UInt64
  ) throws(StorageFault) -> [Operation] {
    do {
      return try PackedDelta.unpackStored(delta)
    } catch {
      throw StorageFault(
        code: .corrupt, message: "log entry \(position) is damaged: \(error.message)")
    }
  }
}
