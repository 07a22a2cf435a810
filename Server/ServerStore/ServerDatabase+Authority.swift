import DispatchAuthority
import Foundation
import GRDB
import QueueModel
import SequenceCRDT

/// Leases and dispatches as rows.
extension ServerDatabase {
  func authority(ofWorkspace number: Int64, in db: Database) throws -> AuthorityRecords {
    let leases = try Row.fetchAll(
      db, sql: "SELECT session, token, device, replica FROM leases WHERE workspace = ?",
      arguments: [number]
    ).map { row in
      let device: Data? = row["device"]
      let replica: Int64? = row["replica"]
      var holder: LeaseHolder?
      if device != nil, let replica {
        holder = LeaseHolder(
          device: try row.identifier("device"), replica: ReplicaID(column: replica))
      }
      return Lease(
        session: try SessionID(row["session"] as String), token: UInt64(column: row["token"]),
        holder: holder)
    }
    let dispatches = try Row.fetchAll(
      db,
      sql: "SELECT message, token, attempt, request, content FROM dispatches WHERE workspace = ?",
      arguments: [number]
    ).map { row in
      Dispatch(
        message: try row.identifier("message"), token: UInt64(column: row["token"]),
        attempt: UInt16(clamping: row["attempt"] as Int64), request: UInt64(column: row["request"]),
        content: UInt64(column: row["content"]))
    }
    return AuthorityRecords(leases: leases, dispatches: dispatches)
  }

  func save(_ records: AuthorityRecords, workspace number: Int64, in db: Database) throws {
    for lease in records.leases {
      try db.cachedStatement(
        sql: """
          INSERT INTO leases (workspace, session, token, device, replica) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (workspace, session) DO UPDATE
          SET token = excluded.token, device = excluded.device, replica = excluded.replica
          """
      ).execute(arguments: [
        number, lease.session.rawValue, lease.token.column, lease.holder?.device.column,
        lease.holder?.replica.column,
      ])
    }
    for dispatch in records.dispatches {
      try db.cachedStatement(
        sql: """
          INSERT INTO dispatches (workspace, message, token, attempt, request, content)
          VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (workspace, message) DO UPDATE
          SET token = excluded.token, attempt = excluded.attempt, request = excluded.request,
            content = excluded.content
          """
      ).execute(arguments: [
        number, dispatch.message.column, dispatch.token.column, Int64(dispatch.attempt),
        dispatch.request.column, dispatch.content.column,
      ])
    }
  }
}
