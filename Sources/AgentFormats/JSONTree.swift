#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// JSON of unknown shape: a missing value is nil.
package enum JSONTree: Hashable, Sendable {
  case null
  case boolean(Bool)
  case number(Double)
  /// A whole number that a double may not represent exactly.
  case whole(Int64)
  case string(String)
  case array([JSONTree])
  case object([String: JSONTree])

  /// The maximum number of levels.
  package static let depthMax = 100
  /// Doubles represent all whole numbers below this exactly.
  static let exactMax = Double(1 << 53)

  /// Reads one value; nil if the bytes are not one value, or it has too many levels. Invalid UTF-8
  /// is replaced first.
  ///
  /// - Parameter isShown: whether a user makes a decision from the result. Then these are refused:
  ///   invalid UTF-8, an object with a repeated name, and a number that is neither an exact double
  ///   nor a whole number of 64 bits.
  package init?(_ bytes: some Collection<UInt8>, isShown: Bool = false) {
    if isShown, String(validating: bytes, as: UTF8.self) == nil { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let tree = JSONTreeReader.read(Array(text.utf8), isShown: isShown) else { return nil }
    self = tree
  }

  package subscript(_ key: String) -> JSONTree? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var flag: Bool? {
    if case .boolean(let flag) = self { flag } else { nil }
  }

  /// A whole number of 64 bits.
  package var integer: Int64? {
    switch self {
    case .number(let number): Int64(exactly: number.rounded(.towardZero))
    case .whole(let whole): whole
    default: nil
    }
  }

  package var elements: [JSONTree] {
    if case .array(let elements) = self { elements } else { [] }
  }
}

extension JSONTree: Encodable {
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let flag): try container.encode(flag)
    case .number(let number):
      // A whole number stays whole.
      if let whole = Int64(exactly: number) {
        try container.encode(whole)
      } else {
        try container.encode(number)
      }
    case .whole(let whole): try container.encode(whole)
    case .string(let text): try container.encode(text)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }

  /// The value on one line, with sorted keys. Characters that are invisible, or change the order of
  /// others, are escaped.
  package var line: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Values from JSON can always be encoded: JSON has no infinite numbers, for example.
    guard let data = try? encoder.encode(self) else { return "null" }
    return JSONTree.escaped(String(decoding: data, as: UTF8.self), JSONTree.isEscaped)
  }

  /// A text with the selected scalars as JSON escapes.
  static func escaped(_ text: String, _ isEscaped: (Unicode.Scalar) -> Bool) -> String {
    guard text.unicodeScalars.contains(where: isEscaped) else { return text }
    return text.unicodeScalars.reduce(into: "") { escaped, scalar in
      guard isEscaped(scalar) else { return escaped.unicodeScalars.append(scalar) }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .lineSeparator, .paragraphSeparator, .control: true
    default: isUnseen(scalar)
    }
  }

  /// Whether a scalar is invisible, or changes the order of others, so that the user would read
  /// another text. Joiners, which make one character of several, and line ends and tabs are
  /// visible.
  static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    case .control: scalar != "\n" && scalar != "\r" && scalar != "\t" && scalar != "\u{85}"
    default: false
    }
  }
}

extension JSONTree: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
  package init(integerLiteral value: Int) { self = .number(Double(value)) }
  package init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONTree)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}
