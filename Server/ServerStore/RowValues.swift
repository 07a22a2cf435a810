import Foundation
import GRDB
import QueueModel
import SequenceCRDT

/// The model's values as columns.
extension UniqueIdentifier {
  var column: Data {
    var bytes = Data(capacity: 16)
    for half in [high, low] {
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: half >> shift))
      }
    }
    return bytes
  }

  /// Returns nil if the column does not have 16 bytes.
  init?(column: Data) {
    guard column.count == 16 else { return nil }
    let half = { (part: Data) in part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    self.init(high: half(column.prefix(8)), low: half(column.suffix(8)))
  }
}

extension UInt64 {
  /// The same 64 bits as SQLite's signed integer.
  var column: Int64 { Int64(bitPattern: self) }

  init(column: Int64) {
    self.init(bitPattern: column)
  }
}

extension ReplicaID {
  var column: Int64 { rawValue.column }

  init(column: Int64) {
    self.init(rawValue: UInt64(column: column))
  }
}

/// A column that breaks the schema.
struct DamagedColumn: Error, CustomStringConvertible {
  var name: String

  var description: String { "the column \(name) holds what it cannot hold" }
}

/// The value that `body` reads; nil if a row has an impossible value, which means damage of that
/// row only.
func readable<Value>(_ body: () throws -> Value) throws -> Value? {
  do {
    return try body()
  } catch {
    guard isDamage(error) else { throw error }
    return nil
  }
}

/// Whether an error means that a row has a value that is never written.
func isDamage(_ error: any Error) -> Bool {
  error is DamagedColumn || error is QueueError || error is DecodingError
}

extension Row {
  func identifier<Identifier: UniqueIdentifier>(_ name: String) throws -> Identifier {
    guard let identifier = Identifier(column: self[name]) else { throw DamagedColumn(name: name) }
    return identifier
  }

  func sequence(_ name: String) throws -> UInt32 {
    guard let seq = UInt32(exactly: self[name] as Int64) else { throw DamagedColumn(name: name) }
    return seq
  }

  func position(_ name: String) -> UInt64 {
    UInt64(column: self[name])
  }
}
