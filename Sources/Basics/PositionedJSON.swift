/// A place in a text, for users: both numbers count from 1, the column in Unicode scalars.
package struct TextPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  package var line: Int
  package var column: Int

  package static let start = TextPosition(line: 1, column: 1)

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  package static func < (left: TextPosition, right: TextPosition) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }

  /// As compilers write it, after a file's name.
  package var description: String { "\(line):\(column)" }
}

/// Why a text is not JSON, and the position of the fault.
package struct JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
  package var position: TextPosition
  package var message: String

  package init(_ message: String, at position: TextPosition) {
    self.message = message
    self.position = position
  }

  package var description: String { "\(position): \(message)" }
}

/// A JSON value with its position in the text.
package struct PositionedJSON: Hashable, Sendable {
  /// One member of an object, with the position of its key.
  package struct Member: Hashable, Sendable {
    package var key: String
    package var position: TextPosition
    /// The bytes of the member, from its key's quotation mark on.
    package var range: Range<Int>
    package var value: PositionedJSON
  }

  package enum Value: Hashable, Sendable {
    case null
    case boolean(Bool)
    /// A number as it was written. RFC 8259 sets no limits; each reader does.
    case number(String)
    case string(String)
    case array([PositionedJSON])
    /// Members in the order of the text; keys are unique.
    case object([Member])
  }

  package var value: Value
  /// The position of its first character.
  package var position: TextPosition
  /// Its bytes.
  package var range: Range<Int>

  /// The members of an object; nil for anything else.
  package var members: [Member]? { if case .object(let members) = value { members } else { nil } }

  /// The elements of an array; nil for anything else.
  package var elements: [PositionedJSON]? {
    if case .array(let elements) = value { elements } else { nil }
  }

  /// The content of a string; nil for anything else.
  package var text: String? { if case .string(let text) = value { text } else { nil } }

  /// A member of an object.
  package subscript(_ key: String) -> PositionedJSON? { members?.first { $0.key == key }?.value }

  /// The kind of value, for messages.
  package var kind: String {
    switch value {
    case .null: "null"
    case .boolean: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// A string as JSON writes it, quotes included; characters outside ASCII are not escaped.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
