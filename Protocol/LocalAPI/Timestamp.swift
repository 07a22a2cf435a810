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

extension Timestamp: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let milliseconds = ISOTime.milliseconds(of: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(text) is not a time as 2026-03-01T09:30:00.125Z")
    }
    self.init(milliseconds)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(ISOTime.text(milliseconds: milliseconds))
  }
}

extension Timestamp: SchemaGiven {
  static var schema: JSONValue { Note.time.schema }
  static var example: Timestamp? { Timestamp(0) }
}
