import ClientCore
import DispatchAuthority
import Foundation
import GRDB
import QueueModel
import WireProtocol

/// Answers to requests of tasks: those that wait to be sent, and those that the device accepted as
/// its own authority.
extension ClientStore {
  func write(_ changes: AnswerChanges, to database: Database) throws {
    if let pending = changes.kept {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO answers
          (request, session, verdict, text, given_at, was_sent, digest)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        pending.answer.request.description, pending.answer.session.rawValue,
        Int64(pending.answer.verdict.rawValue), Data(pending.answer.text.utf8), pending.givenAt,
        pending.wasSent, pending.answer.digest?.description,
      ])
    }
    if let request = changes.ended {
      try database.cachedStatement(sql: "DELETE FROM answers WHERE request = ?")
        .execute(arguments: [request.description])
    }
  }

  func writeVerdicts(of records: AuthorityRecords, to database: Database) throws {
    guard let limit = records.verdictsKeptSince else { return }
    for record in records.verdicts {
      try database.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO own_verdicts
          (request, session, verdict, device, text, taken_at, digest)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        record.request.description, record.session.rawValue,
        Int64(record.given.verdict.rawValue), record.given.device.description,
        Data(record.given.text.utf8), record.milliseconds, record.given.digest?.description,
      ])
    }
    try database.cachedStatement(sql: "DELETE FROM own_verdicts WHERE taken_at < ?")
      .execute(arguments: [limit])
  }
}

/// Unreadable rows are left out, because such an answer cannot be sent.
func fetchAnswers(_ database: Database) throws -> [PendingAnswer] {
  try Row.fetchAll(
    database,
    sql: "SELECT request, session, verdict, text, given_at, was_sent, digest FROM answers"
  ).compactMap { row in
    let text: Data = row[3]
    guard let request = RequestID(row[0] as String), let session = try? SessionID(row[1] as String),
      let verdict = verdict(row[2])
    else { return nil }
    return PendingAnswer(
      answer: AnswerRequest(
        session: session, request: request, verdict: verdict,
        text: String(decoding: text, as: UTF8.self), digest: digest(row[6])),
      givenAt: row[4], wasSent: row[5])
  }
}

func fetchVerdicts(_ database: Database) throws -> [VerdictRecord] {
  try Row.fetchAll(
    database,
    sql: "SELECT request, session, verdict, device, text, taken_at, digest FROM own_verdicts"
  ).compactMap { row in
    let text: Data = row[4]
    guard let request = RequestID(row[0] as String), let session = try? SessionID(row[1] as String),
      let verdict = verdict(row[2]), let device = DeviceID(row[3] as String)
    else { return nil }
    return VerdictRecord(
      request: request, session: session,
      given: GivenVerdict(
        verdict: verdict, device: device, text: String(decoding: text, as: UTF8.self),
        digest: digest(row[6])),
      milliseconds: row[5])
  }
}

private func digest(_ column: String?) -> ContentHash? { column.flatMap { ContentHash($0) } }

private func verdict(_ column: Int64) -> Verdict? {
  UInt8(exactly: column).flatMap(Verdict.init(rawValue:))
}
