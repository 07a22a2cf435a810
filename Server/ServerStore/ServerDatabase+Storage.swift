import Foundation
import GRDB
package import QueueModel
package import SequenceCRDT
package import ServerCore
import Synchronization

/// Remembers which tokens were found good since tokens were changed last, by this process or by
/// another, so that the look for lapsed ones costs nothing as long as nobody changes any.
final class LapsedCheck: Sendable {
  private struct State {
    var dataVersion: Int?
    var good: Set<ConnectedToken> = []
  }

  private let state = Mutex(State())

  /// Those of the tokens that are to be looked up. One that came since the last look is, though
  /// nothing changed: what was read of it may be older than that look.
  func unknown(among tokens: [ConnectedToken], dataVersion: Int?) -> [ConnectedToken] {
    state.withLock { state in
      guard state.dataVersion == dataVersion else { return tokens }
      return tokens.filter { !state.good.contains($0) }
    }
  }

  /// This process changed tokens itself: what was found does not count any more.
  func forget() {
    state.withLock { $0 = State() }
  }

  /// All of these are good.
  func noted(_ tokens: Set<ConnectedToken>, dataVersion: Int?) {
    state.withLock { $0 = State(dataVersion: dataVersion, good: tokens) }
  }
}

extension ServerDatabase: ServerStorage {
  package func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord? {
    try read { db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT w.id AS workspace, d.id AS device, d.name, d.seen_position, d.last_seen_at,
            d.revoked_at
          FROM tokens t
          JOIN workspaces w ON w.number = t.workspace
          JOIN devices d ON d.workspace = t.workspace AND d.id = t.device
          WHERE t.hash = ?
          """, arguments: [Data(hash)])
      guard let row else { return nil }
      return TokenRecord(
        workspace: try row.identifier("workspace"),
        device: DeviceRecord(
          id: try row.identifier("device"), name: row["name"],
          seenLogPosition: row.position("seen_position"), lastSeenAt: row["last_seen_at"]),
        isRevoked: row["revoked_at"] != nil)
    }
  }

  package func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome {
    try write { db in
      let now = redemption.wallMilliseconds
      let code = try Row.fetchOne(
        db,
        sql: """
          SELECT w.number, w.id, w.name, c.failures
          FROM pairing_codes c JOIN workspaces w ON w.number = c.workspace
          WHERE c.hash = ? AND c.used_at IS NULL AND c.expires_at > ?
          """, arguments: [Data(redemption.codeHash), now])
      guard let code else {
        try db.execute(
          sql: """
            UPDATE pairing_codes SET failures = failures + 1
            WHERE used_at IS NULL AND expires_at > ?
            """, arguments: [now])
        return .wrong
      }
      guard code["failures"] < redemption.failuresMax else { return .exhausted }
      let number: Int64 = code["number"]
      let others =
        try Int.fetchOne(
          db,
          sql: """
            SELECT count(*) FROM devices WHERE workspace = ? AND id <> ? AND revoked_at IS NULL
            """, arguments: [number, redemption.device.column]) ?? 0
      guard others < redemption.devicesMax else { return .tooManyDevices }
      let wasRevoked = try grant(redemption, workspace: number, in: db)
      // Its own writes do not show in the file's version.
      lapsedCheck.forget()
      return .granted(
        workspace: try code.identifier("id"), workspaceName: code["name"], wasRevoked: wasRevoked)
    }
  }

  /// - Returns: whether the device had its access taken away before.
  private func grant(
    _ redemption: CodeRedemption, workspace: Int64, in db: Database
  ) throws -> Bool {
    let device = redemption.device.column
    let now = redemption.wallMilliseconds
    let wasRevoked =
      try Bool.fetchOne(
        db, sql: "SELECT revoked_at IS NOT NULL FROM devices WHERE workspace = ? AND id = ?",
        arguments: [workspace, device]) ?? false
    // It begins anew: what an earlier version left of it, or the server wrote before it noticed.
    if wasRevoked { try forgetInbox(of: redemption.device, workspace: workspace, in: db) }
    try db.execute(
      sql: """
        INSERT INTO devices (workspace, id, name, paired_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (workspace, id) DO UPDATE
        SET name = excluded.name, paired_at = excluded.paired_at, revoked_at = NULL
        """, arguments: [workspace, device, redemption.deviceName, now])
    try db.execute(
      sql: "DELETE FROM tokens WHERE workspace = ? AND device = ?",
      arguments: [workspace, device])
    try db.execute(
      sql: "INSERT INTO tokens (hash, workspace, device, created_at) VALUES (?, ?, ?, ?)",
      arguments: [Data(redemption.tokenHash), workspace, device, now])
    try db.execute(
      sql: "UPDATE pairing_codes SET used_at = ? WHERE hash = ?",
      arguments: [now, Data(redemption.codeHash)])
    return wasRevoked
  }

  package func lapsedAccess(
    among tokens: [ConnectedToken]
  ) throws(StorageFault) -> LapsedAccess {
    try read { db in
      let version = try Int.fetchOne(db, sql: "PRAGMA data_version")
      let unknown = lapsedCheck.unknown(among: tokens, dataVersion: version)
      guard !unknown.isEmpty else { return LapsedAccess() }
      let statement = try db.cachedStatement(
        sql: """
          SELECT count(*) FROM tokens t
          JOIN workspaces w ON w.number = t.workspace
          JOIN devices d ON d.workspace = t.workspace AND d.id = t.device
          WHERE t.hash = ? AND w.id = ? AND t.device = ? AND d.revoked_at IS NULL
          """)
      let lapsed = try unknown.filter { token in
        try Int.fetchOne(
          statement,
          arguments: [Data(token.hash), token.workspace.column, token.device.column]) == 0
      }
      let revoked = try db.cachedStatement(
        sql: """
          SELECT d.id FROM devices d JOIN workspaces w ON w.number = d.workspace
          WHERE w.id = ? AND d.revoked_at IS NOT NULL
          """)
      var devices: [WorkspaceID: Set<DeviceID>] = [:]
      for workspace in Set(unknown.map(\.workspace)) {
        let rows = try Row.fetchAll(revoked, arguments: [workspace.column])
        devices[workspace] = Set(try rows.map { try $0.identifier("id") })
      }
      lapsedCheck.noted(Set(tokens).subtracting(lapsed), dataVersion: version)
      return LapsedAccess(tokens: lapsed, devices: devices)
    }
  }

  package func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try read { db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT number, name, log_identity, epoch,
            (SELECT max(position) FROM log WHERE workspace = number) AS head,
            coalesce((SELECT position FROM bases WHERE workspace = number), 0) AS base
          FROM workspaces WHERE id = ?
          """, arguments: [workspace.column])
      guard let row else { return nil }
      let number: Int64 = row["number"]
      let replicas = try Row.fetchAll(
        db,
        sql: "SELECT replica, device, seq, digest, base_seq FROM replicas WHERE workspace = ?",
        arguments: [number]
      ).map { row in
        ReplicaMark(
          replica: ReplicaID(column: row["replica"]), seq: try row.sequence("seq"),
          digest: UInt64(column: row["digest"]), device: try row.identifier("device"),
          baseSeq: try row.sequence("base_seq"))
      }
      let base = row.position("base")
      let head: Int64? = row["head"]
      return WorkspaceHeader(
        name: row["name"], logIdentity: UInt64(column: row["log_identity"]),
        epoch: UInt64(column: row["epoch"]), basePosition: base,
        head: max(head.map(UInt64.init(column:)) ?? 0, base), replicas: replicas,
        devices: try records(ofWorkspace: number, in: db),
        authority: try authority(ofWorkspace: number, in: db),
        inboxes: try inboxes(ofWorkspace: number, in: db))
    }
  }

  package func latestSnapshot(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot? {
    try read { db in
      try Row.fetchOne(
        db,
        sql: """
          SELECT position, bytes FROM snapshots
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?)
          ORDER BY position DESC LIMIT 1
          """, arguments: [workspace.column]
      ).map { row in
        StoredSnapshot(position: row.position("position"), bytes: Array(row["bytes"] as Data))
      }
    }
  }

  package func entries(
    of workspace: WorkspaceID, after position: UInt64, limit: Int
  ) throws(StorageFault) -> [LogEntry] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT position, delta FROM log
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?) AND position > ?
          ORDER BY position LIMIT ?
          """, arguments: [workspace.column, position.column, limit]
      ).map(LogEntry.init(row:))
    }
  }

  package func entries(
    of workspace: WorkspaceID, overlapping ranges: [OperationRange]
  ) throws(StorageFault) -> [LogEntry] {
    try read { db in
      let number = try number(of: workspace, in: db)
      let statement = try db.cachedStatement(
        sql: """
          SELECT DISTINCT position FROM log_ranges
          WHERE workspace = ? AND replica = ? AND last_seq >= ? AND first_seq <= ?
          """)
      var positions: Set<Int64> = []
      for range in ranges {
        positions.formUnion(
          try Int64.fetchAll(
            statement,
            arguments: [number, range.replica.column, Int64(range.first), Int64(range.last)]))
      }
      let entry = try db.cachedStatement(
        sql: "SELECT position, delta FROM log WHERE workspace = ? AND position = ?")
      return try positions.sorted().compactMap { position in
        try Row.fetchOne(entry, arguments: [number, position]).map(LogEntry.init(row:))
      }
    }
  }

  package func commit(_ batch: CommitBatch) throws(StorageFault) {
    try write { db in
      for append in batch.appends { try insert(append, in: db) }
      for change in batch.records {
        try save(change.records, workspace: number(of: change.workspace, in: db), in: db)
      }
      for change in batch.inboxes {
        try save(change.changes, workspace: number(of: change.workspace, in: db), in: db)
      }
      let touch = try db.cachedStatement(
        sql: """
          UPDATE devices SET name = ?, last_seen_at = ?, seen_position = max(seen_position, ?)
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?) AND id = ?
          """)
      for change in batch.touches {
        try touch.execute(arguments: [
          change.name, change.wallMilliseconds, change.seenLogPosition.column,
          change.workspace.column, change.device.column,
        ])
      }
    }
  }

  private func insert(_ append: LogAppend, in db: Database) throws {
    let number = try number(of: append.workspace, in: db)
    try db.cachedStatement(
      sql: "INSERT INTO log (workspace, position, delta) VALUES (?, ?, ?)"
    ).execute(arguments: [number, append.position.column, Data(append.delta)])
    for row in append.rows {
      try db.cachedStatement(
        sql: """
          INSERT INTO log_ranges (workspace, replica, last_seq, first_seq, position, digest)
          VALUES (?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        number, row.range.replica.column, Int64(row.range.last), Int64(row.range.first),
        append.position.column, row.digest.column,
      ])
      try db.cachedStatement(
        sql: """
          INSERT INTO replicas (workspace, replica, device, seq, digest) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (workspace, replica) DO UPDATE
          SET seq = excluded.seq, digest = excluded.digest
          """
      ).execute(arguments: [
        number, row.range.replica.column, row.device.column, Int64(row.range.last),
        row.digest.column,
      ])
    }
  }

  package func probe() throws(StorageFault) {
    try write { try $0.execute(sql: "UPDATE server SET probes = probes + 1") }
  }

  package func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID
  ) throws(StorageFault) {
    try write { db in
      let number = try number(of: workspace, in: db)
      try db.execute(
        sql: "INSERT OR REPLACE INTO snapshots (workspace, position, bytes) VALUES (?, ?, ?)",
        arguments: [number, snapshot.position.column, Data(snapshot.bytes)])
      // The one before is kept in case this one turns out unreadable in a backup.
      try db.execute(
        sql: """
          DELETE FROM snapshots WHERE workspace = ? AND position NOT IN (
            SELECT position FROM snapshots WHERE workspace = ? ORDER BY position DESC LIMIT 2)
          """, arguments: [number, number])
    }
  }

  func number(of workspace: WorkspaceID, in db: Database) throws -> Int64 {
    let number = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT number FROM workspaces WHERE id = ?"),
      arguments: [workspace.column])
    guard let number else { throw StorageFault(code: .internalError, message: "no such workspace") }
    return number
  }
}

extension LogEntry {
  init(row: Row) {
    self.init(position: row.position("position"), delta: Array(row["delta"] as Data))
  }
}
