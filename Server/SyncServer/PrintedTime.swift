import Basics

/// A time in a command's answer. In JSON it is ISO 8601 in UTC with milliseconds, as in the answers
/// of `cospool`.
package struct PrintedTime: Hashable, Sendable {
  /// Since 1970.
  package var milliseconds: Int64

  package init(_ milliseconds: Int64) { self.milliseconds = milliseconds }
}

extension PrintedTime: Codable {
  package init(from decoder: any Decoder) throws {
    self.init(try ISOTime.decode(from: decoder))
  }

  package func encode(to encoder: any Encoder) throws {
    try ISOTime.encode(milliseconds, to: encoder)
  }
}
