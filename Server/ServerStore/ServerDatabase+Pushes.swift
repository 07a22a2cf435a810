import Foundation
import GRDB
package import QueueModel
package import ServerCore

/// The queue of pushes as rows.
extension ServerDatabase: PushQueue {
  package func takePushOrders(at now: Int64) throws(StorageFault) {
    let isNew = try read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (SELECT 1 FROM push_orders
            WHERE number > (SELECT push_orders_taken FROM server))
          """) ?? false
    }
    guard isNew else { return }
    try write { db in
      // A notification that is no longer awaited need not be shown first.
      try db.execute(
        sql: """
          DELETE FROM push_deliveries WHERE order_number IN (
            SELECT a.number FROM push_orders a JOIN push_orders r
              ON r.workspace = a.workspace AND r.device = a.device AND r.position = a.position
            WHERE a.kind = 1 AND r.kind = 2 AND r.number > (SELECT push_orders_taken FROM server))
          """)
      try db.execute(
        sql: """
          INSERT INTO push_deliveries (order_number, target, attempts, next_at, reason)
          SELECT o.number, t.id, 0, ?1, '' FROM push_orders o
          JOIN push_targets t ON t.workspace = o.workspace AND t.device = o.device
          JOIN devices d ON d.workspace = o.workspace AND d.id = t.set_by
          WHERE o.number > (SELECT push_orders_taken FROM server) AND t.is_valid = 1
            AND \(ServerDatabase.hasAccess("?1"))
            AND \(ServerDatabase.takesNotices)
            AND NOT (o.kind = 1 AND EXISTS (
              SELECT 1 FROM push_orders r WHERE r.workspace = o.workspace
                AND r.device = o.device AND r.position = o.position AND r.kind = 2))
          """, arguments: [now])
      try db.execute(
        sql: """
          UPDATE server SET push_orders_taken =
            coalesce((SELECT max(number) FROM push_orders), push_orders_taken)
          """)
      try shortenQueues(in: db)
      try forgetFinishedOrders(at: now, in: db)
    }
  }

  /// A condition: the device `d` that set the target `t` may connect at a time, the argument of
  /// that name. If the target is the user's, the device must not be a viewer, which may belong to
  /// another person.
  private static func hasAccess(_ now: String) -> String {
    """
    (d.revoked_at IS NULL AND EXISTS (
      SELECT 1 FROM tokens k WHERE k.workspace = d.workspace AND k.device = d.id
        AND (k.expires_at IS NULL OR k.expires_at > \(now))
        AND (t.device <> zeroblob(16) OR k.role <> \(DeviceRole.viewer.rawValue))))
    """
  }

  /// A condition on a target `t`, the same as `PushTargetRecord.takesNotices`.
  static let takesNotices =
    "NOT (t.kind = 'apns' AND t.address LIKE '%\(PushTargetRecord.activityMark)%')"

  /// A wait may last a day and an hour; later times come from a wrong clock.
  private static let waitMilliseconds: Int64 = 25 * 3_600_000

  package func dueDeliveries(
    at now: Int64, limit: Int
  ) throws(StorageFault) -> DueDeliveries {
    var damaged: [DeliveryKey] = []
    let found = try read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT p.order_number, p.target, p.attempts, p.first_at FROM push_deliveries p
          JOIN push_orders o ON o.number = p.order_number
          JOIN push_targets t
            ON t.workspace = o.workspace AND t.device = o.device AND t.id = p.target
          JOIN devices d ON d.workspace = o.workspace AND d.id = t.set_by
          WHERE (p.next_at <= ?1 OR p.next_at > ?3) AND t.is_valid = 1
            AND \(ServerDatabase.hasAccess("?1"))
            AND p.order_number = (
              SELECT min(q.order_number) FROM push_deliveries q WHERE q.target = p.target)
          ORDER BY p.order_number LIMIT ?2
          """, arguments: [now, limit, now.addingReportingOverflow(Self.waitMilliseconds).0]
      )
      let due = try rows.compactMap { row -> DueDelivery? in
        if let known = try readable({ try delivery(row, in: db) }) { return known }
        damaged.append(
          DeliveryKey(order: row["order_number"], target: try row.identifier("target")))
        return nil
      }
      let next = try Int64.fetchOne(
        db, sql: "SELECT min(next_at) FROM push_deliveries WHERE next_at > ?", arguments: [now])
      return DueDeliveries(due: due, nextAt: next)
    }
    guard !damaged.isEmpty else { return found }
    // Each would block its target forever. Deliveries behind it may now be due.
    try settle(
      damaged.map { SettledDelivery(key: $0, result: .dead(reason: "it cannot be read")) }, at: now)
    return try dueDeliveries(at: now, limit: limit)
  }

  private func delivery(_ row: Row, in db: Database) throws -> DueDelivery {
    let target: Data = row["target"]
    guard let order = try pushOrder(row["order_number"], in: db),
      let record = try Row.fetchOne(
        db,
        sql: """
          SELECT t.* FROM push_targets t JOIN workspaces w ON w.number = t.workspace
          WHERE w.id = ? AND t.device = ? AND t.id = ?
          """, arguments: [order.workspace.column, order.order.device.column, target])
    else { throw DamagedColumn(name: "position") }
    return DueDelivery(
      order: order, target: try PushTargetRecord(row: record), attempts: row["attempts"],
      firstAt: row["first_at"])
  }

  package func settle(
    _ settled: [SettledDelivery], at now: Int64
  ) throws(StorageFault) {
    try write { db in
      for delivery in settled { try settle(delivery, at: now, in: db) }
    }
  }

  private func settle(_ settled: SettledDelivery, at now: Int64, in db: Database) throws {
    let key: StatementArguments = [settled.key.order, settled.key.target.column]
    switch settled.result {
    case .again(let at, let reason, let counts):
      try db.execute(
        sql: """
          UPDATE push_deliveries SET attempts = attempts + ?, first_at = coalesce(first_at, ?),
            next_at = ?, reason = ?
          WHERE order_number = ? AND target = ?
          """, arguments: [counts ? 1 : 0, now, at, reason] + key)
      return
    case .dead(let reason):
      try db.execute(
        sql: """
          INSERT INTO push_dead_letters
            (workspace, device, target, kind, position, attempts, reason, at)
          SELECT o.workspace, o.device, p.target, o.kind, o.position, p.attempts + 1, ?, ?
          FROM push_deliveries p JOIN push_orders o ON o.number = p.order_number
          WHERE p.order_number = ? AND p.target = ?
          """, arguments: [reason, now] + key)
      try db.execute(
        sql: """
          DELETE FROM push_dead_letters WHERE number <=
            (SELECT max(number) FROM push_dead_letters) - ?
          """, arguments: [PushSummary.deadLettersMax])
    case .invalid(let reason, let registeredAt):
      guard
        try invalidate(settled.key, registeredAt: registeredAt, reason: reason, at: now, in: db)
      else { return }
    case .done: break
    }
    try db.execute(
      sql: "DELETE FROM push_deliveries WHERE order_number = ? AND target = ?", arguments: key)
    try forget(order: settled.key.order, in: db)
  }

  /// - Returns: whether the provider's report is about the present target.
  private func invalidate(
    _ key: DeliveryKey, registeredAt: Int64, reason: String, at now: Int64, in db: Database
  ) throws -> Bool {
    try db.execute(
      sql: """
        UPDATE push_targets SET is_valid = 0, reason = ?
        WHERE id = ? AND registered_at = ? AND (workspace, device) =
          (SELECT workspace, device FROM push_orders WHERE number = ?)
        """, arguments: [reason, key.target.column, registeredAt, key.order])
    guard db.changesCount > 0 else { return false }
    try forgetFinishedOrders(at: now, in: db)
    return true
  }

  /// Removes an order without open deliveries.
  private func forget(order number: Int64, in db: Database) throws {
    let finished = try Row.fetchOne(
      db,
      sql: """
        DELETE FROM push_orders WHERE number = ?1
          AND NOT EXISTS (SELECT 1 FROM push_deliveries WHERE order_number = ?1)
        RETURNING workspace, position
        """, arguments: [number])
    if let finished {
      try InboxRows(ofWorkspace: finished["workspace"], in: db).forget(
        finished["position"] as Int64)
    }
  }

  /// Drops the oldest deliveries of targets for which too many wait.
  private func shortenQueues(in db: Database) throws {
    let long = try Row.fetchAll(
      db,
      sql: """
        SELECT target, count(*) AS waiting FROM push_deliveries
        GROUP BY target HAVING waiting > ?
        """, arguments: [PushSummary.waitingMax])
    for row in long {
      let target: Data = row["target"]
      try db.execute(
        sql: """
          DELETE FROM push_deliveries WHERE target = ?1 AND order_number < (
            SELECT order_number FROM push_deliveries WHERE target = ?1
            ORDER BY order_number DESC LIMIT 1 OFFSET ?2)
          """, arguments: [target, PushSummary.waitingMax - 1])
    }
  }

  /// Drops deliveries whose target no longer exists, then orders without deliveries.
  private func forgetFinishedOrders(at now: Int64, in db: Database) throws {
    try db.execute(
      sql: """
        DELETE FROM push_deliveries WHERE NOT EXISTS (
          SELECT 1 FROM push_orders o JOIN push_targets t
            ON t.workspace = o.workspace AND t.device = o.device
          JOIN devices d ON d.workspace = o.workspace AND d.id = t.set_by
          WHERE o.number = order_number AND t.id = target AND t.is_valid = 1
            AND \(ServerDatabase.hasAccess("?1")))
        """, arguments: [now])
    let finished = try Row.fetchAll(
      db,
      sql: """
        DELETE FROM push_orders WHERE number <= (SELECT push_orders_taken FROM server)
          AND NOT EXISTS (SELECT 1 FROM push_deliveries WHERE order_number = number)
        RETURNING workspace, position
        """)
    for row in finished {
      try InboxRows(ofWorkspace: row["workspace"], in: db).forget(row["position"] as Int64)
    }
  }

  package func hasten(at now: Int64) throws(StorageFault) {
    try write { db in
      try db.execute(
        sql: "UPDATE push_deliveries SET next_at = ? WHERE next_at > ?", arguments: [now, now])
      try db.execute(sql: "DELETE FROM push_problems")
    }
  }

  package func validTargets(
    of devices: [DeviceID], in workspace: WorkspaceID, at now: Int64
  ) throws(StorageFault) -> [PushTargetRecord] {
    try read { db in
      try devices.flatMap { device in
        try Row.fetchAll(
          db,
          sql: """
            SELECT t.* FROM push_targets t JOIN workspaces w ON w.number = t.workspace
            JOIN devices d ON d.workspace = t.workspace AND d.id = t.set_by
            WHERE w.id = ?1 AND t.device = ?2 AND t.is_valid = 1
              AND \(ServerDatabase.hasAccess("?3"))
            ORDER BY t.id
            """, arguments: [workspace.column, device.column, now]
        ).map(PushTargetRecord.init(row:))
      }
    }
  }

  package func forget(_ end: LiveStatusEnd) throws(StorageFault) {
    try write { db in
      try db.execute(
        sql: """
          DELETE FROM live_statuses WHERE session = ? AND ended_at = ?
            AND workspace = (SELECT number FROM workspaces WHERE id = ?)
          """, arguments: [end.session.rawValue, end.at, end.workspace.column])
    }
  }

  package func note(
    problem: String?, of kind: String, at now: Int64
  ) throws(StorageFault) {
    let known = try read { db in
      try String.fetchOne(
        db, sql: "SELECT reason FROM push_problems WHERE kind = ?", arguments: [kind])
    }
    guard known != problem else { return }
    try write { db in
      guard let problem else {
        return try db.execute(
          sql: "DELETE FROM push_problems WHERE kind = ?", arguments: [kind])
      }
      try db.execute(
        sql: "INSERT OR REPLACE INTO push_problems (kind, reason, at) VALUES (?, ?, ?)",
        arguments: [kind, problem, now])
    }
  }

  // MARK: - Operators

  /// A target with its owner.
  package struct TargetListing: Hashable, Sendable {
    package var workspaceName: String
    package var deviceName: String
    package var target: PushTargetRecord
    /// Waiting deliveries.
    package var waiting: Int
  }

  /// The push targets in use at a time, including those that providers no longer know.
  package func pushTargets(at now: Int64) throws(StorageFault) -> [TargetListing] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT t.*, w.name AS workspace_name, d.name AS device_name,
            (SELECT count(*) FROM push_deliveries p JOIN push_orders o
              ON o.number = p.order_number
              WHERE p.target = t.id AND o.workspace = t.workspace AND o.device = t.device) AS waiting
          FROM push_targets t JOIN workspaces w ON w.number = t.workspace
          JOIN devices d ON d.workspace = t.workspace AND d.id = t.set_by
          WHERE \(ServerDatabase.hasAccess("?1")) ORDER BY w.name, d.name, t.id
          """, arguments: [now]
      ).map { row in
        TargetListing(
          workspaceName: row["workspace_name"], deviceName: row["device_name"],
          target: try PushTargetRecord(row: row), waiting: row["waiting"])
      }
    }
  }

  package func pushSummary(at now: Int64) throws(StorageFault) -> PushSummary {
    try read { db in
      let letters = try Row.fetchAll(
        db, sql: "SELECT target, attempts, reason, at FROM push_dead_letters ORDER BY number DESC"
      ).map { row in
        PushSummary.DeadLetter(
          target: try row.identifier("target"), attempts: row["attempts"], reason: row["reason"],
          at: row["at"])
      }
      var problems: [String: String] = [:]
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT kind, reason FROM push_problems WHERE kind IN (
            SELECT t.kind FROM push_targets t
            JOIN devices d ON d.workspace = t.workspace AND d.id = t.set_by
            WHERE t.is_valid = 1 AND \(ServerDatabase.hasAccess("?1")))
          """, arguments: [now])
      for row in rows { problems[row["kind"]] = row["reason"] }
      let waiting = try Int.fetchOne(db, sql: "SELECT count(*) FROM push_deliveries") ?? 0
      return PushSummary(waiting: waiting, deadLetters: letters, problems: problems)
    }
  }
}
