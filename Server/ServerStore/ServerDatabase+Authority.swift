import DispatchAuthority
import Foundation
import GRDB
import QueueModel
import WireProtocol

/// Leases and dispatches as rows.
extension ServerDatabase {
  func authority(ofWorkspace number: Int64, in db: Database) throws -> AuthorityRecords {
    let leases = try Row.fetchAll(
      db, sql: "SELECT session, token, device, store FROM leases WHERE workspace = ?",
      arguments: [number]
    ).map { row in
      let device: Data? = row["device"]
      let store: Int64? = row["store"]
      var holder: LeaseHolder?
      if device != nil, let store {
        holder = LeaseHolder(
          device: try row.identifier("device"), store: StoreID(rawValue: UInt64(column: store)))
      }
      return Lease(
        session: try SessionID(row["session"] as String), token: UInt64(column: row["token"]),
        holder: holder)
    }
    let dispatches = try Row.fetchAll(
      db,
      sql: """
        SELECT message, session, device, store, token, attempt, request, content, let_out_at,
          intervention
        FROM dispatches WHERE workspace = ?
        """,
      arguments: [number]
    ).map { try Dispatch($0) }
    return AuthorityRecords(
      leases: leases, dispatches: dispatches,
      verdicts: try verdicts(ofWorkspace: number, in: db))
  }

  private func verdicts(ofWorkspace number: Int64, in db: Database) throws -> [VerdictRecord] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT request, session, verdict, device, text, taken_at, digest FROM verdicts
        WHERE workspace = ?
        """,
      arguments: [number]
    ).compactMap { row in
      // This version cannot report a verdict of a later version.
      guard let verdict = UInt8(exactly: row["verdict"] as Int64).flatMap(Verdict.init(rawValue:))
      else { return nil }
      let text: Data = row["text"]
      return VerdictRecord(
        request: try row.identifier("request"), session: try SessionID(row["session"] as String),
        given: GivenVerdict(
          verdict: verdict, device: try row.identifier("device"),
          text: String(decoding: text, as: UTF8.self),
          digest: (row["digest"] as String?).flatMap { ContentHash($0) }),
        milliseconds: row["taken_at"])
    }
  }

  private func save(
    _ verdicts: [VerdictRecord], keptSince limit: Int64, workspace number: Int64, in db: Database
  ) throws {
    for record in verdicts {
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO verdicts
          (workspace, request, session, verdict, device, text, taken_at, digest)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        number, record.request.column, record.session.rawValue,
        Int64(record.given.verdict.rawValue), record.given.device.column,
        Data(record.given.text.utf8), record.milliseconds, record.given.digest?.description,
      ])
    }
    try db.cachedStatement(sql: "DELETE FROM verdicts WHERE workspace = ? AND taken_at < ?")
      .execute(arguments: [number, limit])
  }

  func save(_ records: AuthorityRecords, workspace number: Int64, in db: Database) throws {
    for lease in records.leases {
      try db.cachedStatement(
        sql: """
          INSERT INTO leases (workspace, session, token, device, store) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (workspace, session) DO UPDATE
          SET token = excluded.token, device = excluded.device, store = excluded.store
          """
      ).execute(arguments: [
        number, lease.session.rawValue, lease.token.column, lease.holder?.device.column,
        lease.holder?.store.rawValue.column,
      ])
    }
    if let limit = records.verdictsKeptSince {
      try save(records.verdicts, keptSince: limit, workspace: number, in: db)
    }
    for dispatch in records.dispatches {
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO dispatches
          (workspace, message, session, device, store, token, attempt, request, content,
            let_out_at, intervention)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        number, dispatch.message.column, dispatch.session.rawValue, dispatch.holder.device.column,
        dispatch.holder.store.rawValue.column, dispatch.token.column, Int64(dispatch.attempt),
        dispatch.request.column, dispatch.content.column, dispatch.milliseconds,
        Int64(dispatch.intervention.rawValue),
      ])
    }
  }
}

extension Dispatch {
  fileprivate init(_ row: Row) throws {
    self.init(
      message: try row.identifier("message"), session: try SessionID(row["session"] as String),
      holder: LeaseHolder(
        device: try row.identifier("device"),
        store: StoreID(rawValue: UInt64(column: row["store"]))),
      token: UInt64(column: row["token"]), attempt: UInt16(clamping: row["attempt"] as Int64),
      request: UInt64(column: row["request"]), content: UInt64(column: row["content"]),
      milliseconds: row["let_out_at"],
      intervention: Intervention(rawValue: UInt8(clamping: row["intervention"] as Int64)) ?? .none)
  }
}
