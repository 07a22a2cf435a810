/// A 128-bit identifier with the text form of RFC 9562: `8-4-4-4-12` hexadecimal digits.
///
/// Modules without Foundation pass UUIDs through this protocol; callers provide the values.
public protocol UniqueIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The first eight bytes, big-endian.
  var high: UInt64 { get }
  /// The last eight bytes, big-endian.
  var low: UInt64 { get }
  /// Creates an identifier from its two halves.
  init(high: UInt64, low: UInt64)
}

extension UniqueIdentifier {
  /// Reads the text form, upper or lower case; nil for anything else.
  public init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return nil }
    var digits: [UInt8] = []
    digits.reserveCapacity(32)
    for (index, byte) in bytes.enumerated() {
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
      } else {
        guard let digit = hexadecimalValue(of: byte) else { return nil }
        digits.append(digit)
      }
    }
    let half = { (part: ArraySlice<UInt8>) in part.reduce(UInt64(0)) { $0 << 4 | UInt64($1) } }
    self.init(high: half(digits[..<16]), low: half(digits[16...]))
  }

  /// A version 4 identifier of RFC 9562 from the caller's randomness.
  package init(randomUsing generator: inout some RandomNumberGenerator) {
    self.init(
      high: generator.next() & ~0xF000 | 0x4000,
      low: generator.next() & ~(0b11 << 62) | 0b10 << 62)
  }

  /// The text form in lower case.
  public var description: String {
    let digits = hexadecimalDigits(high) + hexadecimalDigits(low)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
      text.unicodeScalars.append(Unicode.Scalar(digit))
    }
    return text
  }

  /// Orders by the 16 bytes.
  public static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

extension UniqueIdentifier where Self: Codable {
  /// Reads the text form from a single value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID: \(text)")
    }
    self = value
  }

  /// Writes the text form as a single value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

func hexadecimalValue(of byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

/// All 16 digits of a number, in lower case.
func hexadecimalText(_ value: UInt64) -> String {
  String(decoding: hexadecimalDigits(value), as: UTF8.self)
}

private func hexadecimalDigits(_ value: UInt64) -> [UInt8] {
  let alphabet = Array("0123456789abcdef".utf8)
  return (0..<16).map { alphabet[Int(value >> UInt64(60 - 4 * $0) & 0xF)] }
}

/// The permanent name of one queued prompt; the device that queues it makes it.
public struct MessageID: UniqueIdentifier {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Creates an identifier from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The permanent name of one paired device.
public struct DeviceID: UniqueIdentifier {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Creates an identifier from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The permanent name of the queues of one user or team: the unit of sync, access and logging.
public struct WorkspaceID: UniqueIdentifier {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Creates an identifier from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The name of one approval or question that an agent waits for; its host device creates it.
public struct RequestID: UniqueIdentifier {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Creates an identifier from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The name of one address for a device's push notifications; the device creates it.
public struct PushTargetID: UniqueIdentifier {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Creates an identifier from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// Names a session (a *thread*, seen from the thread queue): 1 to 128 bytes, lower-cased.
public struct SessionID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The lower-cased name.
  public let rawValue: String

  /// Trims white space and lower-cases (S2-23).
  ///
  /// - Throws: `QueueError.invalidSessionID` if the result is empty, longer than 128 bytes, or
  ///   contains a control character.
  public init(_ text: some StringProtocol) throws(QueueError) {
    let folded = text.lowercased().trimmedOfWhitespace()
    guard !folded.isEmpty else {
      throw .invalidSessionID(name: String(text), reason: "it is empty")
    }
    guard folded.utf8.count <= Limits.sessionIDBytesMax else {
      throw .invalidSessionID(
        name: String(text.prefix(32)) + "…",
        reason: "it is longer than \(Limits.sessionIDBytesMax) bytes")
    }
    guard !folded.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { throw .invalidSessionID(name: folded, reason: "it holds a control character") }
    rawValue = folded
  }

  /// Accepts a name that `init(_:)` would not change; nil for any other.
  package init?(canonical name: String) {
    // Almost all names are of this kind, and a program reads tens of thousands of them.
    let isPlain = name.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
    if isPlain, (1...Limits.sessionIDBytesMax).contains(name.utf8.count) {
      rawValue = name
      return
    }
    guard let folded = try? SessionID(name), folded.rawValue.utf8.elementsEqual(name.utf8) else {
      return nil
    }
    self = folded
  }

  /// The lower-cased name.
  public var description: String { rawValue }

  /// Compares bytes. `String` equates canonical equivalents, so the order of arrival would decide
  /// which spelling the same operations leave.
  public static func == (left: SessionID, right: SessionID) -> Bool {
    left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
  }

  /// Orders by Unicode scalars, which is the order of their UTF-8.
  public static func < (left: SessionID, right: SessionID) -> Bool {
    left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
  }
}

extension MessageID: Codable {}
extension DeviceID: Codable {}
extension WorkspaceID: Codable {}
extension RequestID: Codable {}
extension PushTargetID: Codable {}

extension SessionID: Codable {
  /// Reads and checks a single string.
  public init(from decoder: any Decoder) throws {
    try self.init(decoder.singleValueContainer().decode(String.self))
  }

  /// Writes a single string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension StringProtocol {
  /// The text without white space at its two ends.
  package func trimmedOfWhitespace() -> String {
    var scalars = Substring(self).unicodeScalars
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(Substring(scalars))
  }
}
