import Basics

/// A time in an answer or a request: ISO 8601, UTC, with milliseconds.
package struct Timestamp: Hashable, Sendable, Comparable {
  package var milliseconds: Int64

  /// - Parameter milliseconds: since 1970.
  package init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }
}

/// The header of every answer with the daemon's best known time, in milliseconds since 1970: the
/// server's if the device's clock is wrong.
package enum TimeHeader {
  package static let name = "Cospool-Time"
}

extension Timestamp: Codable {
  package init(from decoder: any Decoder) throws {
    self.init(try ISOTime.decode(from: decoder))
  }

  package func encode(to encoder: any Encoder) throws {
    try ISOTime.encode(milliseconds, to: encoder)
  }
}

extension Timestamp: SchemaGiven {
  static var schema: JSONValue { Note.time.schema }
  static var example: Timestamp? { Timestamp(0) }
}
