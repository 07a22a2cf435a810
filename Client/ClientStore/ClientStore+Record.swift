import ClientCore
import GRDB
import QueueModel
import SequenceCRDT
import WireProtocol

/// The names in the table `settings`.
enum RecordField: String {
  case device
  case deviceName
  case store
  case workspace
  case logPosition
  case logChain
  case isSyncEnabled
  case repairs
  case access
}

extension ClientStore {
  /// Writes the differences from the stored record; every commit uses this.
  func write(_ record: ReplicaRecord, before: ReplicaRecord?, to database: Database) throws {
    func note<Value: Equatable>(
      _ name: RecordField, _ value: Value, _ old: Value?, _ text: (Value) -> String
    ) throws {
      if value != old { try database.writeSetting(name, text(value)) }
    }
    try note(.device, record.device, before?.device) { $0.description }
    try note(.deviceName, record.deviceName, before?.deviceName) { $0 }
    try note(.store, record.store, before?.store) { String($0.rawValue) }
    if let workspace = record.workspace {
      try note(.workspace, workspace, before?.workspace) { $0.description }
    }
    let prefix = before?.prefix
    try note(.logPosition, record.prefix.position, prefix?.position) { String($0) }
    try note(.logChain, record.prefix.chain, prefix?.chain) { String($0) }
    try note(.isSyncEnabled, record.isSyncEnabled, before?.isSyncEnabled) { $0 ? "1" : "0" }
    try note(.repairs, record.repairs, before?.repairs) { String($0) }
    try note(.access, record.access, before?.access) { $0?.text ?? "" }
    try write(record.outbox, before: before?.outbox ?? Outbox(), to: database)
  }

  private func write(_ outbox: Outbox, before: Outbox, to database: Database) throws {
    guard outbox != before else { return }
    for range in outbox.ranges where before.range(of: range.replica) != range {
      try database.cachedStatement(
        sql: "INSERT OR REPLACE INTO outbox (replica, first_seq, last_seq) VALUES (?, ?, ?)"
      ).execute(arguments: [range.replica.column, range.first, range.last])
    }
    for range in before.ranges where outbox.range(of: range.replica) == nil {
      try database.cachedStatement(sql: "DELETE FROM outbox WHERE replica = ?")
        .execute(arguments: [range.replica.column])
    }
  }

  /// The record of an existing store; nil in a new one.
  static func fetchRecord(_ database: Database) throws -> ReplicaRecord? {
    guard let text = try database.setting(.store) else { return nil }
    guard let store = UInt64(text),
      let device = try database.setting(.device).flatMap({ DeviceID($0) }),
      let position = try database.setting(.logPosition).flatMap({ UInt64($0) }),
      let chain = try database.setting(.logChain).flatMap({ UInt64($0) })
    else {
      throw StoreError(code: .corrupt, message: "the settings of the device cannot be read")
    }
    var record = ReplicaRecord(
      device: device, deviceName: try database.setting(.deviceName) ?? "",
      store: StoreID(rawValue: store))
    record.workspace = try database.setting(.workspace).flatMap { WorkspaceID($0) }
    record.prefix = LogPrefix(position: position, chain: chain)
    record.isSyncEnabled = try database.setting(.isSyncEnabled) != "0"
    record.repairs = try database.setting(.repairs).flatMap { Int($0) } ?? 0
    record.access = try database.setting(.access).flatMap(DeviceAccess.init(text:))
    record.outbox = Outbox(
      try Row.fetchAll(database, sql: "SELECT replica, first_seq, last_seq FROM outbox").map {
        let (first, last) = (try sequence($0[1]), try sequence($0[2]))
        guard 1 <= first, first <= last else {
          throw StoreError(code: .corrupt, message: "\(first)…\(last) is not a range")
        }
        return OperationRange(replica: ReplicaID(column: $0[0]), first: first, last: last)
      })
    return record
  }
}

extension Database {
  func setting(_ name: RecordField) throws -> String? {
    try String.fetchOne(
      self, sql: "SELECT value FROM settings WHERE name = ?", arguments: [name.rawValue])
  }

  func writeSetting(_ name: RecordField, _ value: String) throws {
    try cachedStatement(sql: "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)")
      .execute(arguments: [name.rawValue, value])
  }
}
