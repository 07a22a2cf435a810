import Foundation
import GRDB
package import QueueModel
package import ServerCore
import Synchronization

/// Remembers which tokens were valid when tokens last changed, in this process or another. So the
/// search for lapsed ones costs nothing while tokens do not change.
final class LapsedCheck: Sendable {
  private struct State {
    var dataVersion: Int?
    var good: Set<ConnectedToken> = []
  }

  private let state = Mutex(State())

  /// The tokens to look up. A token that is new since the last search is one of them even without
  /// changes: it may have been read before that search.
  func unknown(among tokens: [ConnectedToken], dataVersion: Int?) -> [ConnectedToken] {
    state.withLock { state in
      guard state.dataVersion == dataVersion else { return tokens }
      return tokens.filter { !state.good.contains($0) }
    }
  }

  /// This process changed tokens itself: earlier results no longer count.
  func forget() {
    state.withLock { $0 = State() }
  }

  /// All of these are valid.
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
          SELECT w.id AS workspace, w.mark, w.file_bytes_max, d.id AS device, d.name, d.seen_position,
            d.last_seen_at, d.revoked_at, t.role, t.expires_at
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
          seenLogPosition: row.position("seen_position"), lastSeenAt: row["last_seen_at"],
          role: try row.role),
        isRevoked: row["revoked_at"] != nil, expiresAt: row["expires_at"],
        fileBytesMax: row["file_bytes_max"], mark: row.mark)
    }
  }

  package func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome {
    try write { db in
      let now = redemption.wallMilliseconds
      let code = try Row.fetchOne(
        db,
        sql: """
          SELECT w.number, w.id, w.name, c.failures, c.role, c.access_milliseconds, c.maker
          FROM pairing_codes c JOIN workspaces w ON w.number = c.workspace
          WHERE c.hash = ? AND c.used_at IS NULL AND c.expires_at > ?
          """, arguments: [Data(redemption.codeHash), now])
      guard let code else {
        try db.noteWrongCode(redemption.codeHash, at: now)
        return .wrong
      }
      guard code["failures"] < redemption.failuresMax else { return .exhausted }
      let number: Int64 = code["number"]
      let revocation = try Bool.fetchOne(
        db, sql: "SELECT revoked_at IS NOT NULL FROM devices WHERE workspace = ? AND id = ?",
        arguments: [number, redemption.device.column])
      let wasRevoked = revocation == true
      var end = (code["access_milliseconds"] as Int64?).map { now + $0 }
      let letInBy = code["maker"] == nil ? nil : try code.identifier("maker") as DeviceID
      if let letInBy {
        // A code is not valid if its device may no longer give others access.
        guard
          let maker = try db.maker(letInBy, workspace: try code.identifier("id"), at: now)
        else { return .wrong }
        guard !wasRevoked else { return .revoked }
        // Without this check, it could replace any other device.
        guard revocation == nil || redemption.device == letInBy else { return .known }
        end = [end, maker.expiresAt].compactMap { $0 }.min()
      }
      let others = try db.deviceCount(besides: redemption.device, in: number)
      guard others < redemption.devicesMax else { return .tooManyDevices }
      // The device starts again, without the changes that it made after it was revoked.
      if wasRevoked {
        try InboxRows(ofWorkspace: number, in: db).forget(redemption.device)
      }
      try db.grant(redemption, workspace: number, role: code["role"], until: end)
      // The process's own writes do not change the file's version.
      lapsedCheck.forget()
      return .granted(
        workspace: try code.identifier("id"), workspaceName: code["name"], wasRevoked: wasRevoked,
        letInBy: letInBy)
    }
  }

  package func addCode(_ proposal: CodeProposal) throws(StorageFault) -> CodeOutcome {
    try write { db in
      let now = proposal.wallMilliseconds
      guard
        let maker = try db.maker(proposal.device, workspace: proposal.workspace, at: now)
      else { return .noAccess }
      try db.dropDeadCodes(at: now)
      let recent =
        try Int.fetchOne(
          db,
          sql: """
            SELECT count(*) FROM pairing_codes WHERE workspace = ? AND maker = ? AND expires_at > ?
            """, arguments: [maker.workspace, proposal.device.column, now]) ?? 0
      guard recent < proposal.recentMax else { return .tooMany }
      try db.execute(
        sql: """
          INSERT INTO pairing_codes
            (hash, workspace, created_at, expires_at, role, access_milliseconds, maker)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          Data(proposal.hash), maker.workspace, now, proposal.expiresAt, proposal.role.rawValue,
          proposal.accessMilliseconds, proposal.device.column,
        ])
      try insert([proposal.auditEntry], in: db)
      return .added
    }
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
      var quotas: [WorkspaceID: WorkspaceQuota] = [:]
      for workspace in Set(unknown.map(\.workspace)) {
        let rows = try Row.fetchAll(revoked, arguments: [workspace.column])
        devices[workspace] = Set(try rows.map { try $0.identifier("id") })
        quotas[workspace] = try Row.fetchOne(
          db, sql: "SELECT * FROM workspaces WHERE id = ?", arguments: [workspace.column]
        ).map(\.quota)
      }
      lapsedCheck.noted(Set(tokens).subtracting(lapsed), dataVersion: version)
      return LapsedAccess(tokens: lapsed, devices: devices, quotas: quotas)
    }
  }

  package func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try read { db in
      let row = try Row.fetchOne(
        db, sql: "SELECT * FROM workspaces WHERE id = ?", arguments: [workspace.column])
      guard let row else { return nil }
      let number: Int64 = row["number"]
      return WorkspaceHeader(
        name: row["name"], firstChain: UInt64(column: row["first_chain"]),
        head: try head(ofWorkspace: number, in: db), mark: row.mark,
        devices: try records(ofWorkspace: number, in: db),
        authority: try authority(ofWorkspace: number, in: db),
        inboxes: try InboxRows(ofWorkspace: number, in: db).records(), quota: row.quota,
        written: DailyWrites(day: row["written_day"], bytes: row["written_bytes"]))
    }
  }

  /// Devices that may connect.
  private func records(ofWorkspace number: Int64, in db: Database) throws -> [DeviceRecord] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT d.id, d.name, d.seen_position, d.last_seen_at, coalesce(t.role, 3) AS role
        FROM devices d LEFT JOIN tokens t ON t.workspace = d.workspace AND t.device = d.id
        WHERE d.workspace = ? AND d.revoked_at IS NULL ORDER BY d.id
        """, arguments: [number]
    ).map { row in
      DeviceRecord(
        id: try row.identifier("id"), name: row["name"],
        seenLogPosition: row.position("seen_position"), lastSeenAt: row["last_seen_at"],
        role: try row.role)
    }
  }

  package func probe() throws(StorageFault) {
    try requireSpace()
    try write { try $0.execute(sql: "UPDATE server SET probes = probes + 1") }
  }

  func knownNumber(of workspace: WorkspaceID, in db: Database) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT number FROM workspaces WHERE id = ?"),
      arguments: [workspace.column])
  }

  func number(of workspace: WorkspaceID, in db: Database) throws -> Int64 {
    guard let number = try knownNumber(of: workspace, in: db) else {
      throw StorageFault(code: .internalError, message: "no such workspace")
    }
    return number
  }
}

extension Row {
  /// The column `role`.
  var role: DeviceRole {
    get throws {
      guard let role = DeviceRole(rawValue: self["role"]) else { throw DamagedColumn(name: "role") }
      return role
    }
  }

  /// The column `mark`.
  var mark: WorkspaceMark { WorkspaceMark(rawValue: UInt64(column: self["mark"])) }

  /// The limits of the workspace in this row.
  var quota: WorkspaceQuota {
    WorkspaceQuota(
      bytesMax: self["bytes_max"],
      unitsMax: (self["units_max"] as Int64?).map(UInt64.init(column:)),
      dailyBytesMax: self["daily_bytes_max"], fileBytesMax: self["file_bytes_max"])
  }
}

/// Pairing codes.
extension Database {
  /// A device that may give others access now: its workspace's number, and when its own access
  /// ends; nil if it may not.
  fileprivate func maker(
    _ device: DeviceID, workspace: WorkspaceID, at now: Int64
  ) throws -> (workspace: Int64, expiresAt: Int64?)? {
    try Row.fetchOne(
      self,
      sql: """
        SELECT t.workspace, t.expires_at FROM tokens t
        JOIN workspaces w ON w.number = t.workspace
        JOIN devices d ON d.workspace = t.workspace AND d.id = t.device
        WHERE w.id = ? AND t.device = ? AND t.role = ? AND d.revoked_at IS NULL
          AND (t.expires_at IS NULL OR t.expires_at > ?)
        """, arguments: [workspace.column, device.column, DeviceRole.host.rawValue, now]
    ).map { ($0["workspace"], $0["expires_at"]) }
  }

  /// The number of other devices of a workspace that may connect.
  fileprivate func deviceCount(besides device: DeviceID, in workspace: Int64) throws -> Int {
    try Int.fetchOne(
      self,
      sql: "SELECT count(*) FROM devices WHERE workspace = ? AND id <> ? AND revoked_at IS NULL",
      arguments: [workspace, device.column]) ?? 0
  }

  /// Gives a device access, with a new token instead of its former one, and marks the code as used.
  fileprivate func grant(
    _ redemption: CodeRedemption, workspace: Int64, role: Int64, until end: Int64?
  ) throws {
    let device = redemption.device.column
    let now = redemption.wallMilliseconds
    try execute(
      sql: """
        INSERT INTO devices (workspace, id, name, paired_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (workspace, id) DO UPDATE
        SET name = excluded.name, paired_at = excluded.paired_at, revoked_at = NULL
        """, arguments: [workspace, device, redemption.deviceName, now])
    try execute(
      sql: "DELETE FROM tokens WHERE workspace = ? AND device = ?",
      arguments: [workspace, device])
    try execute(
      sql: """
        INSERT INTO tokens (hash, workspace, device, created_at, role, expires_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """, arguments: [Data(redemption.tokenHash), workspace, device, now, role, end])
    try execute(
      sql: "UPDATE pairing_codes SET used_at = ? WHERE hash = ?",
      arguments: [now, Data(redemption.codeHash)])
  }

  /// A wrong guess counts against the open codes of its name.
  fileprivate func noteWrongCode(_ hash: [UInt8], at now: Int64) throws {
    let name = PairingCode.name(ofStored: hash)
    try execute(
      sql: """
        UPDATE pairing_codes SET failures = failures + 1
        WHERE substr(hash, 1, ?2) = ?1 AND used_at IS NULL AND expires_at > ?3
        """, arguments: [Data(name), name.count, now])
  }

  /// Removes codes that ended long ago.
  func dropDeadCodes(at now: Int64) throws {
    try execute(
      sql: "DELETE FROM pairing_codes WHERE expires_at < ?", arguments: [now - 86_400_000])
  }
}
