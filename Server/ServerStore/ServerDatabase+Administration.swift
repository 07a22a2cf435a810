import Foundation
import GRDB
package import QueueModel
package import ServerCore

/// A device as the operator sees it.
package struct DeviceListing: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var workspaceName: String
  package var id: DeviceID
  package var name: String
  /// Milliseconds since 1970.
  package var pairedAt: Int64
  package var lastSeenAt: Int64?
  package var revokedAt: Int64?
  package var seenLogPosition: UInt64
  package var role: DeviceRole
  /// When its access ends, milliseconds since 1970; nil for never.
  package var expiresAt: Int64?
}

/// When a device lost its access.
package struct Revocation: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var device: DeviceID
  /// Milliseconds since 1970.
  package var at: Int64

  package init(workspace: WorkspaceID, device: DeviceID, at: Int64) {
    self.workspace = workspace
    self.device = device
    self.at = at
  }
}

/// A workspace to create if its name does not exist.
package struct WorkspaceProposal: Hashable, Sendable {
  package var name: String
  package var id: WorkspaceID
  package var firstChain: UInt64
  package var createdAt: Int64

  package init(name: String, id: WorkspaceID, firstChain: UInt64, createdAt: Int64) {
    self.name = name
    self.id = id
    self.firstChain = firstChain
    self.createdAt = createdAt
  }
}

/// The operator's commands; safe while a server is running.
extension ServerDatabase {
  /// Stores the hash of a new pairing code, and its workspace if that is new.
  ///
  /// - Returns: the id of the workspace with that name.
  package func addPairingCode(
    hash: [UInt8], for proposal: WorkspaceProposal, expiresAt: Int64, role: DeviceRole = .host,
    accessMilliseconds: Int64? = nil
  ) throws(StorageFault) -> WorkspaceID {
    try write { db in
      try db.execute(
        sql: """
          INSERT INTO workspaces (id, name, first_chain, created_at, mark) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (name) DO NOTHING
          """,
        arguments: [
          proposal.id.column, proposal.name, proposal.firstChain.column, proposal.createdAt,
          WorkspaceMark.random().rawValue.column,
        ])
      guard
        let row = try Row.fetchOne(
          db, sql: "SELECT number, id FROM workspaces WHERE name = ?", arguments: [proposal.name])
      else { throw StorageFault(code: .internalError, message: "the workspace was not created") }
      try db.dropDeadCodes(at: proposal.createdAt)
      try db.execute(
        sql: """
          INSERT INTO pairing_codes
            (hash, workspace, created_at, expires_at, role, access_milliseconds)
          VALUES (?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          Data(hash), row["number"] as Int64, proposal.createdAt, expiresAt, role.rawValue,
          accessMilliseconds,
        ])
      try insert(
        [
          AuditEntry(
            at: proposal.createdAt, event: .code, workspace: try row.identifier("id"),
            detail: "role \(role.name)")
        ], in: db)
      return try row.identifier("id")
    }
  }

  /// The devices of one workspace, or of all, revoked ones included. An unreadable row is left out:
  /// its workspace cannot be read either, and is reported as damaged.
  package func devices(inWorkspaceNamed name: String?) throws(StorageFault) -> [DeviceListing] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT w.id AS workspace, w.name AS workspace_name, d.id, d.name, d.paired_at,
            d.last_seen_at, d.revoked_at, d.seen_position, coalesce(t.role, 3) AS role,
            t.expires_at
          FROM devices d JOIN workspaces w ON w.number = d.workspace
          LEFT JOIN tokens t ON t.workspace = d.workspace AND t.device = d.id
          WHERE ? IS NULL OR w.name = ?
          ORDER BY w.name, d.paired_at, d.id
          """, arguments: [name, name]
      ).compactMap { row in
        try readable {
          DeviceListing(
            workspace: try row.identifier("workspace"), workspaceName: row["workspace_name"],
            id: try row.identifier("id"), name: row["name"], pairedAt: row["paired_at"],
            lastSeenAt: row["last_seen_at"], revokedAt: row["revoked_at"],
            seenLogPosition: row.position("seen_position"), role: try row.role,
            expiresAt: row["expires_at"])
        }
      }
    }
  }

  /// Revokes a device permanently. Its token stays known, so that the server can report the
  /// revocation to it. Its waiting notifications and its push targets are removed.
  package func revoke(
    _ device: DeviceID, in workspace: WorkspaceID, at wallMilliseconds: Int64
  ) throws(StorageFault) {
    try write { db in
      try insert(
        [AuditEntry(at: wallMilliseconds, event: .revoked, workspace: workspace, device: device)],
        in: db)
      try db.execute(
        sql: """
          UPDATE devices SET revoked_at = coalesce(revoked_at, ?)
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?) AND id = ?
          """, arguments: [wallMilliseconds, workspace.column, device.column])
      let number = try Int64.fetchOne(
        db, sql: "SELECT number FROM workspaces WHERE id = ?", arguments: [workspace.column])
      if let number { try InboxRows(ofWorkspace: number, in: db).forget(device) }
    }
  }

  /// Revokes devices again that were revoked before, and now have access.
  ///
  /// - Returns: those devices.
  package func revokeAgain(
    _ revocations: [Revocation], at wallMilliseconds: Int64
  ) throws(StorageFault) -> [Revocation] {
    let back = try standing(revocations)
    for revocation in back {
      try revoke(revocation.device, in: revocation.workspace, at: wallMilliseconds)
    }
    return back
  }

  /// Whether a workspace with that name exists.
  package func hasWorkspace(named name: String) throws(StorageFault) -> Bool {
    try read { db in
      try Bool.fetchOne(
        db, sql: "SELECT EXISTS (SELECT 1 FROM workspaces WHERE name = ?)", arguments: [name])
        ?? false
    }
  }
}
