package import ClientCore
import Foundation
import GRDB
package import QueueModel

/// Drafts: stored beside the log, not part of it.
extension ClientStore {
  /// Every readable draft, by session.
  package func drafts() throws(StoreError) -> [Draft] {
    do {
      return try read { database in
        try Row.fetchAll(
          database, sql: "SELECT session, text, updated_at FROM drafts ORDER BY session"
        ).compactMap(ClientStore.draft)
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// A session's draft; nil if there is none.
  package func draft(of session: SessionID) throws(StoreError) -> Draft? {
    do {
      return try read { database in
        try Row.fetchOne(
          database, sql: "SELECT session, text, updated_at FROM drafts WHERE session = ?",
          arguments: [session.rawValue]
        ).flatMap(ClientStore.draft)
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Replaces a session's draft; durable when it returns.
  ///
  /// - Returns: whether there was room for it.
  package func keep(_ draft: Draft) throws(StoreError) -> Bool {
    do {
      return try write { database in
        let others = try Int.fetchOne(
          database, sql: "SELECT count(*) FROM drafts WHERE session != ?",
          arguments: [draft.session.rawValue])
        guard others ?? 0 < Limits.draftsMax else { return false }
        try database.execute(
          sql: "INSERT OR REPLACE INTO drafts (session, text, updated_at) VALUES (?, ?, ?)",
          arguments: [draft.session.rawValue, Data(draft.text.utf8), draft.updatedAt])
        return true
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Removes a session's draft, if there is one.
  package func forgetDraft(of session: SessionID) throws(StoreError) {
    do {
      try write { try delete(session, in: $0) }
    } catch {
      throw StoreError(error)
    }
  }

  /// In the transaction of a send: ends the session's draft if the sent text contains all of it. A
  /// different draft stays, because it was never sent.
  func endDraft(_ sent: Command.Send, in database: Database) throws {
    let row = try Row.fetchOne(
      database.cachedStatement(
        sql: "SELECT session, text, updated_at FROM drafts WHERE session = ?"),
      arguments: [sent.session.rawValue])
    guard let row else { return }
    if let draft = ClientStore.draft(row), !draft.isPart(of: sent.text) { return }
    try delete(sent.session, in: database)
  }

  private func delete(_ session: SessionID, in database: Database) throws {
    try database.execute(
      sql: "DELETE FROM drafts WHERE session = ?", arguments: [session.rawValue])
  }

  /// An unreadable draft is left out: it must not prevent a store from opening.
  private static func draft(_ row: Row) -> Draft? {
    let name: String = row[0]
    // Bytes, because a text column of SQLite ends at a NUL.
    let bytes: Data = row[1]
    guard let session = try? SessionID(name),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    return Draft(session: session, text: text, updatedAt: row[2])
  }
}

extension Draft {
  /// Whether a text contains the whole draft, ignoring white space around it.
  fileprivate func isPart(of sent: String) -> Bool {
    let own = Data(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
    return own.isEmpty || Data(sent.utf8).range(of: own) != nil
  }
}
