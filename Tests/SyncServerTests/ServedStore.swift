import QueueModel
import ServerCore
import Testing

/// What the process that serves a store does there.
extension ServerStorage {
  /// Commits with the marks of the store.
  func commitKnowingMarks(_ batch: CommitBatch) throws(StorageFault) {
    var batch = batch
    for workspace in batch.changedWorkspaces {
      batch.marks[workspace] = try header(of: workspace)?.mark
    }
    let result = try commit(batch)
    #expect(result.lost.isEmpty)
  }

  /// Appends one entry.
  func append(
    _ entry: LogEntry, to workspace: WorkspaceID, at wallMilliseconds: Int64
  ) throws(StorageFault) {
    var batch = CommitBatch()
    batch.wallMilliseconds = wallMilliseconds
    batch.appends = [(workspace, entry)]
    try commitKnowingMarks(batch)
  }
}
