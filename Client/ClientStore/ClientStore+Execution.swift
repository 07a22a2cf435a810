package import ClientCore
import DispatchAuthority
import Foundation
import GRDB
package import QueueModel
import Synchronization
import WireProtocol

/// The data about execution: agents' intents, the device's own grants, and the agents' own names
/// for their conversations.
extension ClientStore {
  func write(_ changes: IntentChanges, to database: Database) throws {
    if let order = changes.begun {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO intents (message, session, attempt, token, prompt)
          VALUES (?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        order.message.description, order.session.rawValue, Int64(order.attempt),
        Int64(bitPattern: order.token), Data(order.text.utf8),
      ])
    }
    if let order = changes.ended {
      try database.cachedStatement(
        sql: "DELETE FROM intents WHERE message = ? AND attempt = ? AND token = ?"
      ).execute(arguments: [
        order.message.description, Int64(order.attempt), Int64(bitPattern: order.token),
      ])
    }
  }

  func write(_ records: AuthorityRecords, to database: Database) throws {
    for lease in records.leases {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO own_leases (session, token, device, store) VALUES (?, ?, ?, ?)
          """
      ).execute(arguments: [
        lease.session.rawValue, Int64(bitPattern: lease.token), lease.holder?.device.description,
        lease.holder.map { Int64(bitPattern: $0.store.rawValue) },
      ])
    }
    for dispatch in records.dispatches {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO own_dispatches
          (message, session, device, store, token, attempt, request, content, let_out_at,
            intervention)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        dispatch.message.description, dispatch.session.rawValue,
        dispatch.holder.device.description, Int64(bitPattern: dispatch.holder.store.rawValue),
        Int64(bitPattern: dispatch.token), Int64(dispatch.attempt),
        Int64(bitPattern: dispatch.request), Int64(bitPattern: dispatch.content),
        dispatch.milliseconds, Int64(dispatch.intervention.rawValue),
      ])
    }
  }

  /// The agent's own id of a session's conversation; nil if this agent reported none.
  package func conversation(
    of session: SessionID, with agent: String
  ) throws(StoreError) -> String? {
    do {
      return try read { database in
        try String.fetchOne(
          database, sql: "SELECT conversation FROM conversations WHERE session = ? AND agent = ?",
          arguments: [session.rawValue, agent])
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// The stored data of all sessions under the name of one agent.
  package func conversations(with agent: String) throws(StoreError) -> [SessionID: String] {
    do {
      return try read { database in try fetchNotes(of: agent, database) }
    } catch {
      throw StoreError(error)
    }
  }

  /// The stored values of a session under the names of all agents.
  ///
  /// Complexity: a lookup; the first time for a session it is read from the file.
  package func conversations(of session: SessionID) throws(StoreError) -> [String: String] {
    if let known = agentNotes.withLock({ $0[session] }) { return known }
    do {
      return try read { database in
        var kept: [String: String] = [:]
        for row in try Row.fetchAll(
          database, sql: "SELECT agent, conversation FROM conversations WHERE session = ?",
          arguments: [session.rawValue])
        {
          kept[row[0]] = row[1] as String
        }
        // On the connection's own queue, like the changes.
        agentNotes.withLock { notes in
          if notes.count >= ClientStore.agentNotesMax { notes = [:] }
          notes[session] = kept
        }
        return kept
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// Stores it, replacing the previous one.
  package func keep(
    conversation: String, of session: SessionID, with agent: String
  ) throws(StoreError) {
    do {
      try write { database in
        try database.execute(
          sql: """
            INSERT OR REPLACE INTO conversations (session, agent, conversation) VALUES (?, ?, ?)
            """,
          arguments: [session.rawValue, agent, conversation])
        agentNotes.withLock { $0[session]?[agent] = conversation }
      }
    } catch {
      // The commit may have failed, so it is read again.
      agentNotes.withLock { $0[session] = nil }
      throw StoreError(error)
    }
  }

  /// Forgets the conversations of a session; its user's choices stay.
  ///
  /// Complexity: a lookup if it has none.
  package func forgetConversations(of session: SessionID) throws(StoreError) {
    guard try conversations(of: session).contains(where: { $0.key != ClientStore.choiceName })
    else { return }
    do {
      try write { database in
        try database.execute(
          sql: "DELETE FROM conversations WHERE session = ? AND agent <> ?",
          arguments: [session.rawValue, ClientStore.choiceName])
        agentNotes.withLock { $0[session] = nil }
      }
    } catch {
      agentNotes.withLock { $0[session] = nil }
      throw StoreError(error)
    }
  }
}

extension ClientStore {
  /// Stands in for an agent's name in the row that stores a session's choice of an agent.
  package static let choiceName = ""

  /// Stores a choice that a user at this device made about a session.
  func write(_ choice: SessionChoice, to database: Database) throws {
    switch choice {
    case .consent(let session, let isGiven):
      try database.execute(
        sql: isGiven
          ? "INSERT OR IGNORE INTO consents (session) VALUES (?)"
          : "DELETE FROM consents WHERE session = ?",
        arguments: [session.rawValue])
    case .agent(let session, let agent?):
      try database.execute(
        sql: """
          INSERT OR REPLACE INTO conversations (session, agent, conversation) VALUES (?, ?, ?)
          """,
        arguments: [session.rawValue, ClientStore.choiceName, agent.name])
      agentNotes.withLock { $0[session] = nil }
    case .agent(let session, nil):
      try database.execute(
        sql: "DELETE FROM conversations WHERE session = ? AND agent = ?",
        arguments: [session.rawValue, ClientStore.choiceName])
      agentNotes.withLock { $0[session] = nil }
    }
  }
}

func fetchConsents(_ database: Database) throws -> Set<SessionID> {
  let names = try String.fetchAll(database, sql: "SELECT session FROM consents")
  return Set(names.compactMap { try? SessionID($0) })
}

/// The names of the agents of sessions with their own agent.
func fetchAgentChoices(_ database: Database) throws -> [SessionID: String] {
  try fetchNotes(of: ClientStore.choiceName, database)
}

/// The stored data under the name of one agent.
private func fetchNotes(of agent: String, _ database: Database) throws -> [SessionID: String] {
  var notes: [SessionID: String] = [:]
  for row in try Row.fetchAll(
    database, sql: "SELECT session, conversation FROM conversations WHERE agent = ?",
    arguments: [agent])
  {
    if let session = try? SessionID(row[0] as String) { notes[session] = row[1] as String }
  }
  return notes
}

func fetchIntents(_ database: Database) throws -> [StartOrder] {
  try Row.fetchAll(
    database, sql: "SELECT message, session, attempt, token, prompt FROM intents"
  ).map { row in
    let prompt: Data = row[4]
    return StartOrder(
      session: try SessionID(row[1] as String), message: try identifier(row[0]),
      attempt: UInt16(clamping: row[2] as Int64), token: UInt64(bitPattern: row[3] as Int64),
      text: String(decoding: prompt, as: UTF8.self))
  }
}

func fetchAuthority(_ database: Database) throws -> AuthorityRecords {
  let leases = try Row.fetchAll(
    database, sql: "SELECT session, token, device, store FROM own_leases"
  ).map { row in
    var holder: LeaseHolder?
    if let device: String = row[2], let store: Int64 = row[3] {
      holder = LeaseHolder(
        device: try identifier(device), store: StoreID(rawValue: UInt64(bitPattern: store)))
    }
    return Lease(
      session: try SessionID(row[0] as String), token: UInt64(bitPattern: row[1] as Int64),
      holder: holder)
  }
  let dispatches = try Row.fetchAll(
    database,
    sql: """
      SELECT message, session, device, store, token, attempt, request, content, let_out_at,
        intervention
      FROM own_dispatches
      """
  ).map { row in
    Dispatch(
      message: try identifier(row[0]), session: try SessionID(row[1] as String),
      holder: LeaseHolder(
        device: try identifier(row[2]),
        store: StoreID(rawValue: UInt64(bitPattern: row[3] as Int64))),
      token: UInt64(bitPattern: row[4] as Int64), attempt: UInt16(clamping: row[5] as Int64),
      request: UInt64(bitPattern: row[6] as Int64), content: UInt64(bitPattern: row[7] as Int64),
      milliseconds: row[8],
      intervention: Intervention(rawValue: UInt8(clamping: row[9] as Int64)) ?? .none)
  }
  return AuthorityRecords(
    leases: leases, dispatches: dispatches, verdicts: try fetchVerdicts(database))
}

/// An id from a column, which may contain anything.
private func identifier<Identifier: UniqueIdentifier>(
  _ column: String
) throws(StoreError) -> Identifier {
  guard let identifier = Identifier(column) else {
    throw StoreError(code: .corrupt, message: "\(column) is not an id")
  }
  return identifier
}
