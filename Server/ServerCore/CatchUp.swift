import QueueModel
import SequenceCRDT
import WireProtocol

/// Puts together what a device lacks from log entries, or from a packed snapshot.
enum CatchUp {
  /// What a frame adds to the delta or part inside it, at most.
  static let frameOverheadBytes = 64

  /// The operations of the ranges as `changes` frames in the order of the log.
  ///
  /// A frame carries the log position up to which the device is complete once it has stored that
  /// frame and those before it; the last one carries `position`.
  static func frames(
    for ranges: [OperationRange], in entries: [LogEntry], position: UInt64, partBytesMax: Int
  ) throws(StorageFault) -> [[UInt8]] {
    var frames: [[UInt8]] = []
    var group: [Operation] = []
    var groupBytes = 0
    var reached: UInt64 = 0
    func flush(upTo target: UInt64) {
      let parts = PackedDelta.pack(group, bytesMax: partBytesMax)
      for (index, part) in parts.enumerated() {
        let place = index == parts.count - 1 ? target : reached
        frames.append(
          FrameCodec.encode(.changes(Changes(batch: 0, logPosition: place, delta: part))))
      }
      reached = target
      group = []
      groupBytes = 0
    }
    var found = 0
    for (index, entry) in entries.enumerated() {
      let parts = try operations(in: entry).flatMap { $0.parts(in: ranges) }
      found += parts.reduce(0) { $0 + $1.length }
      group += parts
      groupBytes += entry.delta.count
      if groupBytes >= partBytesMax / 2, index < entries.count - 1 { flush(upTo: entry.position) }
    }
    guard found == ranges.reduce(0, { $0 + $1.count }) else {
      throw StorageFault(code: .corrupt, message: "the log lacks operations that it should hold")
    }
    if !group.isEmpty { flush(upTo: position) }
    return frames
  }

  /// A packed snapshot as frames.
  static func frames(
    forSnapshot bytes: [UInt8], epoch: UInt64, position: UInt64, partBytesMax: Int
  ) -> [[UInt8]] {
    let starts = Array(stride(from: 0, to: max(bytes.count, 1), by: partBytesMax))
    return starts.enumerated().map { index, start in
      FrameCodec.encode(
        .snapshot(
          SnapshotPart(
            epoch: epoch, logPosition: position, index: UInt32(index), count: UInt32(starts.count),
            bytes: Array(bytes[start..<min(start + partBytesMax, bytes.count)]))))
    }
  }

  /// A fanned-out delta for a receiver that takes smaller frames only.
  static func frames(
    splitting delta: [UInt8], position: UInt64, partBytesMax: Int
  ) -> [[UInt8]] {
    guard let operations = try? PackedDelta.unpackStored(delta) else {
      preconditionFailure("a delta that was accepted can be unpacked again")
    }
    let parts = PackedDelta.pack(operations, bytesMax: partBytesMax)
    return parts.enumerated().map { index, part in
      FrameCodec.encode(
        .changes(
          Changes(
            batch: 0, logPosition: index == parts.count - 1 ? position : position - 1,
            delta: part)))
    }
  }

  /// Compares operations with what the log holds under the same ids, unit by unit.
  static func compare(
    _ operations: [Operation], with entries: [LogEntry]
  ) throws(StorageFault) -> OperationComparison {
    var position: UInt64 = 0
    var stored: [Operation] = []
    let ranges = operations.compactMap(\.range)
    for entry in entries {
      let parts = try self.operations(in: entry).flatMap { $0.parts(in: ranges) }
      if !parts.isEmpty { position = max(position, entry.position) }
      stored += parts
    }
    let theirs = digests(of: operations)
    let ours = digests(of: stored)
    for replica in theirs.keys.sorted() where theirs[replica] != ours[replica] {
      return .different(replica)
    }
    return .same(position: position)
  }

  private static func digests(of operations: [Operation]) -> [ReplicaID: OperationDigest] {
    var digests: [ReplicaID: OperationDigest] = [:]
    for operation in operations.sorted(by: { $0.id < $1.id }) {
      digests[operation.id.replica, default: OperationDigest()].add(operation)
    }
    return digests
  }

  static func operations(in entry: LogEntry) throws(StorageFault) -> [Operation] {
    do {
      return try PackedDelta.unpackStored(entry.delta)
    } catch {
      throw StorageFault(
        code: .corrupt, message: "log entry \(entry.position) is damaged: \(error.message)")
    }
  }
}

extension Operation {
  /// The parts of the operation whose ids lie in the ranges.
  func parts(in ranges: [OperationRange]) -> [Operation] {
    guard let own = range else { return [] }
    return ranges.compactMap { wanted in
      guard wanted.replica == own.replica, wanted.first <= own.last, wanted.last >= own.first
      else { return nil }
      let dropped = wanted.first > own.first ? Int(wanted.first - own.first) : 0
      let end = min(wanted.last, own.last)
      return droppingFirst(dropped)?.keepingFirst(Int(end - own.first) + 1 - dropped)
    }
  }
}
