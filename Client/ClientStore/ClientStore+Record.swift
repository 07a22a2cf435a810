import ClientCore
import GRDB
import QueueModel
import SequenceCRDT

/// The names in the table `settings`.
enum SettingName: String {
  case device
  case deviceName
  case replica
  case incarnation
  case workspace
  case logIdentity
  case logPosition
  case epoch
  case isSyncEnabled
  case repairs
  case incarnationToken
  case incarnationInode
  case incarnationBirth
  /// The machine's run in which the store was opened; nothing once it was closed in order.
  case boot
}

extension ClientStore {
  /// Writes what differs from what is stored: every commit comes by here.
  func write(_ record: ReplicaRecord, before: ReplicaRecord?, to database: Database) throws {
    func note<Value: Equatable>(
      _ name: SettingName, _ value: Value, _ old: Value?, _ text: (Value) -> String
    ) throws {
      if value != old { try database.writeSetting(name, text(value)) }
    }
    try note(.device, record.device, before?.device) { $0.description }
    try note(.deviceName, record.deviceName, before?.deviceName) { $0 }
    try note(.replica, record.replica, before?.replica) { String($0.rawValue) }
    try note(.incarnation, record.incarnation, before?.incarnation) { String($0) }
    if let workspace = record.workspace {
      try note(.workspace, workspace, before?.workspace) { $0.description }
    }
    try note(.logIdentity, record.logIdentity, before?.logIdentity) { String($0) }
    try note(.logPosition, record.logPosition, before?.logPosition) { String($0) }
    try note(.epoch, record.epoch, before?.epoch) { String($0) }
    try note(.isSyncEnabled, record.isSyncEnabled, before?.isSyncEnabled) { $0 ? "1" : "0" }
    try note(.repairs, record.repairs, before?.repairs) { String($0) }
    for replica in record.ownReplicas where before?.ownReplicas.contains(replica) != true {
      try database.execute(
        sql: "INSERT OR IGNORE INTO own_replicas (replica) VALUES (?)",
        arguments: [replica.column])
    }
    try write(
      record.acknowledged, before: before?.acknowledged ?? .init(), table: "acknowledged",
      to: database)
    try write(record.floor, before: before?.floor ?? .init(), table: "floor", to: database)
  }

  private func write(
    _ vector: VersionVector, before: VersionVector, table: String, to database: Database
  ) throws {
    guard vector != before else { return }
    for (replica, seq) in vector.sorted where before[replica] != seq {
      try database.cachedStatement(
        sql: "INSERT OR REPLACE INTO \(table) (replica, seq) VALUES (?, ?)"
      ).execute(arguments: [replica.column, seq])
    }
    for (replica, _) in before.sorted where vector[replica] == 0 {
      try database.execute(
        sql: "DELETE FROM \(table) WHERE replica = ?", arguments: [replica.column])
    }
  }

  /// The record of a store that was written before; nil in a new one.
  static func fetchRecord(_ database: Database) throws -> ReplicaRecord? {
    guard let text = try database.setting(.replica) else { return nil }
    guard let replica = UInt64(text), replica != 0,
      let device = try database.setting(.device).flatMap({ DeviceID($0) }),
      let incarnation = try database.setting(.incarnation).flatMap({ UInt32($0) })
    else {
      throw StoreError(code: .corrupt, message: "the settings of the device cannot be read")
    }
    var record = ReplicaRecord(
      device: device, deviceName: try database.setting(.deviceName) ?? "",
      replica: ReplicaID(rawValue: replica))
    record.incarnation = incarnation
    record.workspace = try database.setting(.workspace).flatMap { WorkspaceID($0) }
    record.logIdentity = try database.setting(.logIdentity).flatMap { UInt64($0) } ?? 0
    record.logPosition = try database.setting(.logPosition).flatMap { UInt64($0) } ?? 0
    record.epoch = try database.setting(.epoch).flatMap { UInt64($0) } ?? 0
    record.isSyncEnabled = try database.setting(.isSyncEnabled) != "0"
    record.repairs = try database.setting(.repairs).flatMap { Int($0) } ?? 0
    record.ownReplicas.formUnion(
      try Int64.fetchAll(database, sql: "SELECT replica FROM own_replicas")
        .map(ReplicaID.init(column:)))
    record.acknowledged = try fetchVector(database, table: "acknowledged")
    record.floor = try fetchVector(database, table: "floor")
    return record
  }
}

private func fetchVector(_ database: Database, table: String) throws -> VersionVector {
  var vector = VersionVector()
  for row in try Row.fetchAll(database, sql: "SELECT replica, seq FROM \(table)") {
    vector[ReplicaID(column: row[0])] = try sequence(row[1])
  }
  return vector
}

extension Database {
  func setting(_ name: SettingName) throws -> String? {
    try String.fetchOne(
      self, sql: "SELECT value FROM settings WHERE name = ?", arguments: [name.rawValue])
  }

  func writeSetting(_ name: SettingName, _ value: String) throws {
    try cachedStatement(sql: "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)")
      .execute(arguments: [name.rawValue, value])
  }
}
