import QueueModel
import SequenceCRDT

/// Reads the shapes of a list of runs and their explicit origins.
extension SnapshotPartReader {
  /// Combines the runs whose ids and lengths were read.
  mutating func readRuns(
    ids: [OperationID], lengths: [Int], areText: Bool
  ) throws(DecodingFault) -> [WorkspaceImage.TextRun] {
    let bytes = try runs.raw(ids.count)
    guard bytes.allSatisfy({ $0 < (areText ? 0x20 : 0x10) && $0 & 3 != 3 }) else {
      throw DecodingFault(
        .unsupported, at: runs.position - ids.count, "a run's shape is unknown")
    }
    var list: [WorkspaceImage.TextRun] = []
    list.reserveCapacity(ids.count)
    for (index, shape) in bytes.enumerated() {
      let before = list.last?.slots
      let origins = Operation.Origins(
        left: try readLeft(shape, before: before),
        right: try readRight(
          shape, before: before, behind: index + 1 < ids.count ? ids[index + 1] : nil))
      list.append(
        WorkspaceImage.TextRun(
          slots: WorkspaceImage.SlotRun(id: ids[index], length: lengths[index], origins: origins),
          isVisible: shape & SnapshotFormat.visible != 0))
    }
    return list
  }

  private mutating func readLeft(
    _ shape: UInt8, before: WorkspaceImage.SlotRun?
  ) throws(DecodingFault) -> OperationID? {
    switch shape & 3 {
    case SnapshotFormat.LeftTag.start:
      return nil
    case SnapshotFormat.LeftTag.runBefore:
      guard let last = before?.lastID else { throw noNeighbour() }
      return last
    default:
      return try readUnit(.origin)
    }
  }

  private mutating func readRight(
    _ shape: UInt8, before: WorkspaceImage.SlotRun?, behind: OperationID?
  ) throws(DecodingFault) -> OperationID? {
    switch shape >> 2 & 3 {
    case SnapshotFormat.RightTag.end:
      return nil
    case SnapshotFormat.RightTag.runBehind:
      guard let behind else { throw noNeighbour() }
      return behind
    case SnapshotFormat.RightTag.previous:
      guard let right = before?.origins.right else { throw noNeighbour() }
      return right
    default:
      return try readUnit(.origin)
    }
  }

  private func noNeighbour() -> DecodingFault {
    DecodingFault(.invalidValue, at: runs.position, "a run names a neighbour it does not have")
  }
}
