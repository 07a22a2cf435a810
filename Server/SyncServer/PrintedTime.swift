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
