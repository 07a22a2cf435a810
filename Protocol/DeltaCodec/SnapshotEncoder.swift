import QueueModel
import SequenceCRDT

/// Writes a workspace's state; SPECIFICATION.md, section "Snapshot".
///
/// Every session is a part of its own, without references to other parts. The fields of a part go
/// to four streams, in which the parts follow each other, so that similar data is adjacent and
/// compresses well.
enum SnapshotEncoder {
  static func encode(_ image: WorkspaceImage) -> EncodedBody {
    var parts = [SnapshotPartEncoder.encode(image.replicas, threadSlots: image.threadSlots)]
    parts.reserveCapacity(image.sessions.count + 1)
    for session in image.sessions {
      parts.append(SnapshotPartEncoder.encode(SessionToWrite(session)))
    }
    return join(parts)
  }

  /// The bytes of unused sessions of an opened snapshot are copied.
  static func encode(_ workspace: Workspace) -> EncodedBody {
    var parts = [
      SnapshotPartEncoder.encode(
        workspace.imageReplicas, threadSlots: workspace.imageThreadSlots)
    ]
    var sessions: [(key: SessionID, part: EncodedPart)] = []
    if let packed = workspace.packedSessions {
      guard let packed = packed as? SnapshotSessions else { return encode(workspace.image()) }
      sessions = workspace.untouchedSessions.map { key, index in
        (key, EncodedPart(copying: index, of: packed))
      }
    }
    for touched in workspace.touchedSessions {
      sessions.append((touched.session.key, SnapshotPartEncoder.encode(touched)))
    }
    sessions.sort { $0.key < $1.key }
    parts += sessions.map(\.part)
    return join(parts)
  }

  private static func join(_ parts: [EncodedPart]) -> EncodedBody {
    var writer = ByteWriter()
    writer.number(SnapshotFormat.layout)
    writer.count(parts.count - 1)
    for stream in SnapshotFormat.Stream.allCases {
      for part in parts { writer.count(part[stream].count) }
    }
    var ends: [Int] = []
    for stream in SnapshotFormat.Stream.allCases {
      for part in parts { writer.raw(part[stream]) }
      ends.append(writer.bytes.count)
    }
    return EncodedBody(bytes: writer.bytes, partEnds: ends)
  }
}

/// The bytes that one part adds to each stream.
struct EncodedPart {
  private var streams: [ArraySlice<UInt8>]

  init(numbers: [UInt8], runs: [UInt8], identifiers: [UInt8], texts: [UInt8]) {
    streams = [numbers[...], runs[...], identifiers[...], texts[...]]
  }

  init(copying index: Int, of packed: SnapshotSessions) {
    streams = SnapshotFormat.Stream.allCases.map { packed.bytes(of: index, in: $0) }
  }

  subscript(stream: SnapshotFormat.Stream) -> ArraySlice<UInt8> { streams[stream.rawValue] }
}
