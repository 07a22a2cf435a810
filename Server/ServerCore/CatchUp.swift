import QueueModel
import SequenceCRDT
import WireProtocol

/// The missing part of a device's log, as frames: log entries, or a packed snapshot.
struct CatchUp {
  /// The work of reading an entry, in the unit of `Operation.packingWork`.
  static let entryWork = 1_000

  private(set) var frames: [[UInt8]] = []
  /// The work done: reading each entry, and the operations of each unpacked entry.
  private(set) var work = 0

  /// Log entries as `changes` frames. Neighbours are merged into one delta, which compresses
  /// better, as long as the work is within the limit; the other entries are sent as they are
  /// stored.
  ///
  /// - Returns: nil if an entry is a whole state.
  init?(_ entries: [LogEntry], _ limits: ServerConfiguration.Log) throws(StorageFault) {
    var group: [(prefix: LogPrefix, delta: [UInt8])] = []
    var groupBytes = 0
    for (index, entry) in entries.enumerated() {
      guard case .delta(let delta) = entry.content else { return nil }
      work += Self.entryWork + delta.count / 16
      group.append((entry.prefix, delta))
      groupBytes += delta.count
      guard groupBytes >= limits.partBytesMax / 2 || index == entries.count - 1 else { continue }
      try add(group, workMax: limits.catchUpWorkMax)
      group = []
      groupBytes = 0
    }
  }

  /// Adds one frame, or one for each entry if they do not all fit into one.
  private mutating func add(
    _ group: [(prefix: LogPrefix, delta: [UInt8])], workMax: Int
  ) throws(StorageFault) {
    if group.count > 1, let last = group.last,
      let operations = try operations(of: group, workMax: workMax)
    {
      let parts = PackedDelta.pack(operations, bytesMax: WireLimits.deltaBytesMax)
      if parts.count == 1 {
        return add(parts[0], at: last.prefix)
      }
    }
    for (prefix, delta) in group { add(delta, at: prefix) }
  }

  private mutating func add(_ delta: [UInt8], at prefix: LogPrefix) {
    frames.append(FrameCodec.encode(.changes(Changes(batch: 0, prefix: prefix, delta: delta))))
  }

  /// The operations of several entries; nil if they are too many for one delta, or exceed the
  /// allowed work.
  private mutating func operations(
    of group: [(prefix: LogPrefix, delta: [UInt8])], workMax: Int
  ) throws(StorageFault) -> [Operation]? {
    var operations: [Operation] = []
    for (prefix, delta) in group {
      guard work < workMax, operations.count <= WireLimits.deltaOperationsMax else { return nil }
      do {
        let unpacked = try PackedDelta.unpackStored(delta)
        work += unpacked.reduce(0) { $0 + $1.packingWork }
        operations += unpacked
      } catch {
        throw StorageFault(
          code: .corrupt,
          message: "log entry \(prefix.position) is damaged: \(error.message)")
      }
    }
    return operations
  }

  /// A packed snapshot as frames.
  static func frames(
    forSnapshot bytes: [UInt8], prefix: LogPrefix, partBytesMax: Int
  ) -> [[UInt8]] {
    SnapshotPart.parts(of: bytes, prefix: prefix, bytesMax: partBytesMax).map {
      FrameCodec.encode(.snapshot($0))
    }
  }
}
