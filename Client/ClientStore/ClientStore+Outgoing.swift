package import ClientCore
import Foundation
import GRDB
package import QueueModel

/// Outgoing messages, in boxes with their own numbers.
extension ClientStore {
  /// The contents of a box.
  package struct Box: Sendable {
    /// By number; unreadable ones are left out.
    package var messages: [QueuedMessage]
    package var lastSequence: UInt64
  }

  /// The name of the box of messages that the sync sends to the server.
  package static let syncBox = ""
  /// The name of the box of messages that an app sends to its own server.
  package static let ownBox = "own"
  /// The number of kept messages in that box, delivered ones included; up to a hundred more may
  /// stay.
  package static let syncBoxMax = 1_000

  /// All messages in a box.
  package func outgoing(in box: String) throws(StoreError) -> Box {
    do {
      return try read { database in
        let messages = try Row.fetchAll(
          database,
          sql: """
            SELECT sequence, message, session, content, status, retry_count, queued_at,
              last_attempt, delivered_at, last_error
            FROM outgoing WHERE box = ? ORDER BY sequence
            """, arguments: [box]
        ).compactMap(ClientStore.outgoingMessage)
        let last = try ClientStore.lastSequence(of: box, in: database)
        return Box(messages: messages, lastSequence: UInt64(clamping: last))
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Makes a box match a queue; durable when it returns.
  package func keep(
    _ changes: OutgoingQueue.Changes, lastSequence: UInt64, in box: String
  ) throws(StoreError) {
    guard !changes.isEmpty else { return }
    do {
      try write { database in
        for message in changes.written { try write(message, to: box, in: database) }
        for id in changes.removed {
          try database.execute(
            sql: "DELETE FROM outgoing WHERE box = ? AND message = ?",
            arguments: [box, id.description])
        }
        try write(lastSequence: Int64(clamping: lastSequence), of: box, in: database)
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Numbers a message, in the transaction of the operations that send it and contain its text.
  func note(_ message: Command.Send, at milliseconds: Int64, in database: Database) throws {
    let box = ClientStore.syncBox
    let sequence = try Int64.fetchOne(
      database.cachedStatement(
        sql: """
          INSERT INTO boxes (box, last_sequence) VALUES (?, 1)
          ON CONFLICT DO UPDATE SET last_sequence = last_sequence + 1 RETURNING last_sequence
          """),
      arguments: [box])
    guard let sequence else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
    try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO outgoing (box, sequence, message, session, content, status,
          retry_count, queued_at)
        VALUES (?, ?, ?, ?, x'', ?, 0, ?)
        """
    ).execute(arguments: [
      box, sequence, message.id.description, message.session.rawValue,
      QueueStatus.queued.rawValue, milliseconds,
    ])
    guard sequence % 100 == 0 else { return }
    // Messages that the server lacks are in the log, with or without a row here.
    try database.execute(
      sql: "DELETE FROM outgoing WHERE box = ? AND sequence <= ?",
      arguments: [box, sequence - Int64(ClientStore.syncBoxMax)])
  }

  private static func lastSequence(of box: String, in database: Database) throws -> Int64 {
    try Int64.fetchOne(
      database.cachedStatement(sql: "SELECT last_sequence FROM boxes WHERE box = ?"),
      arguments: [box]) ?? 0
  }

  private func write(lastSequence: Int64, of box: String, in database: Database) throws {
    try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO boxes (box, last_sequence) VALUES (?, ?)"
    ).execute(arguments: [box, lastSequence])
  }

  private func write(
    _ message: QueuedMessage, to box: String, in database: Database
  ) throws {
    try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO outgoing (box, sequence, message, session, content, status,
          retry_count, queued_at, last_attempt, delivered_at, last_error)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      box, Int64(clamping: message.sequence), message.id.description,
      message.message.session.rawValue, Data(message.message.content.utf8),
      message.status.rawValue, message.retryCount, message.queuedAt, message.lastAttempt,
      message.deliveredAt, message.lastError,
    ])
  }

  private static func outgoingMessage(_ row: Row) -> QueuedMessage? {
    let (id, session): (String, String) = (row[1], row[2])
    // Bytes, because a text column of SQLite ends at a NUL.
    let content: Data = row[3]
    let status: String = row[4]
    guard let id = MessageID(id), let session = try? SessionID(session),
      let text = String(validating: content, as: UTF8.self),
      let status = QueueStatus(rawValue: status)
    else { return nil }
    let sequence: Int64 = row[0]
    var message = QueuedMessage(
      message: OutgoingMessage(id: id, session: session, content: text),
      sequence: UInt64(clamping: sequence), queuedAt: row[6])
    message.status = status
    message.retryCount = row[5]
    message.lastAttempt = row[7]
    message.deliveredAt = row[8]
    message.lastError = row[9]
    return message
  }
}
