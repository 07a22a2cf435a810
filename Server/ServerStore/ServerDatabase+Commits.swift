import GRDB
package import QueueModel
package import ServerCore

/// The transactions of the group commit, and the marks that they compare and write.
extension ServerDatabase {
  /// The directory's lock admits one process, so no other node can hold the workspace.
  package func take(_ workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try header(of: workspace)
  }

  package func marks(
    otherThan known: [WorkspaceID: WorkspaceMark]
  ) throws(StorageFault) -> [WorkspaceID: WorkspaceMark] {
    try read { db in
      var others: [WorkspaceID: WorkspaceMark] = [:]
      for (workspace, mark) in known {
        guard let stored = try db.storedMark(of: workspace)?.mark, stored != mark else {
          continue
        }
        others[workspace] = stored
      }
      return others
    }
  }

  package func commit(_ batch: CommitBatch) throws(StorageFault) -> CommitResult {
    try requireSpace()
    return try write { db in
      var result = CommitResult()
      var numbers: [WorkspaceID: Int64] = [:]
      for (workspace, known) in batch.marks {
        guard let (number, mark) = try db.storedMark(of: workspace) else {
          result.lost[workspace] = .deleted
          continue
        }
        guard mark == known else {
          result.lost[workspace] = .changedElsewhere
          continue
        }
        numbers[workspace] = number
      }
      var bytes: [WorkspaceID: Int] = [:]
      for (workspace, entry) in batch.appends {
        guard let number = numbers[workspace] else { continue }
        try db.insert(entry, workspace: number)
        bytes[workspace, default: 0] += entry.content.bytes.count
      }
      for (workspace, records) in batch.records {
        guard let number = numbers[workspace] else { continue }
        try save(records, workspace: number, in: db)
      }
      for (workspace, changes) in batch.inboxes {
        guard let number = numbers[workspace] else { continue }
        try InboxRows(ofWorkspace: number, in: db).save(changes)
      }
      try db.save(batch.touches, numbers)
      for workspace in batch.changedWorkspaces {
        guard let number = numbers[workspace] else { continue }
        result.marks[workspace] = try db.leaveMark(
          onWorkspace: number, written: bytes[workspace] ?? 0, at: batch.wallMilliseconds)
      }
      return result
    }
  }
}

extension Database {
  fileprivate func save(_ touches: [DeviceTouch], _ numbers: [WorkspaceID: Int64]) throws {
    guard !touches.isEmpty else { return }
    let touch = try cachedStatement(
      sql: """
        UPDATE devices SET name = ?, last_seen_at = ?, seen_position = max(seen_position, ?)
        WHERE workspace = ? AND id = ?
        """)
    for change in touches {
      guard let number = numbers[change.workspace] else { continue }
      try touch.execute(arguments: [
        change.name, change.wallMilliseconds, change.seenLogPosition.column, number,
        change.device.column,
      ])
    }
  }

  fileprivate func storedMark(
    of workspace: WorkspaceID
  ) throws -> (number: Int64, mark: WorkspaceMark)? {
    try Row.fetchOne(
      cachedStatement(sql: "SELECT number, mark FROM workspaces WHERE id = ?"),
      arguments: [workspace.column]
    ).map { ($0["number"], $0.mark) }
  }

  /// Writes a fresh mark, and counts bytes for their day.
  fileprivate func leaveMark(
    onWorkspace number: Int64, written bytes: Int, at wallMilliseconds: Int64
  ) throws -> WorkspaceMark {
    let mark = WorkspaceMark.random()
    let day = wallMilliseconds / DailyWrites.dayMilliseconds
    try cachedStatement(
      sql: """
        UPDATE workspaces SET
          written_bytes = CASE WHEN written_day = ?1 THEN written_bytes ELSE 0 END + ?2,
          written_day = ?1, mark = ?3
        WHERE number = ?4
        """
    ).execute(arguments: [day, bytes, mark.rawValue.column, number])
    return mark
  }
}

extension WorkspaceMark {
  static func random() -> WorkspaceMark { WorkspaceMark(rawValue: .random(in: .min ... .max)) }
}
