import Basics

/// A time in a document, written as ISO 8601 in UTC with milliseconds. It is read in that form, or
/// as milliseconds since 1970, the form of version 1.
public struct DocumentTime: Hashable, Sendable {
  /// Since 1970.
  public var milliseconds: Int64

  /// Creates a time from milliseconds since 1970.
  public init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

  /// In the `userInfo` of an encoder: writes milliseconds, as in files of queues.
  package static let asNumbers = CodingUserInfoKey(rawValue: "cospool.timesAsNumbers")
}

extension DocumentTime: Codable {
  /// Reads either form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {
      self.init(number)
      return
    }
    let text = try container.decode(String.self)
    guard let milliseconds = ISOTime.milliseconds(of: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(text) is not a time as 2026-03-01T09:30:00.125Z.")
    }
    self.init(milliseconds)
  }

  /// Writes the text, or the number if the encoder asks for it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let key = DocumentTime.asNumbers, encoder.userInfo[key] != nil {
      try container.encode(milliseconds)
    } else {
      try container.encode(ISOTime.text(milliseconds: milliseconds))
    }
  }
}
