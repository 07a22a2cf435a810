/// A JSON value that knows where in the file it stands.
struct PositionedJSON: Hashable, Sendable {
  /// One member of an object, with the place of its key.
  struct Member: Hashable, Sendable {
    var key: String
    var position: TextPosition
    var value: PositionedJSON
  }

  enum Value: Hashable, Sendable {
    case null
    case boolean(Bool)
    /// A number as it was written; RFC 8259 sets no limits, whoever reads it does.
    case number(String)
    case string(String)
    case array([PositionedJSON])
    /// Members in the order of the file; no key twice.
    case object([Member])
  }

  var value: Value
  /// Where its first character stands.
  var position: TextPosition

  /// What kind of value it is, for messages.
  var kind: String {
    switch value {
    case .null: "null"
    case .boolean: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// Strings as JSON writes them, quotes included; everything but ASCII stays as it is.
  static func quoted(_ text: String) -> String {
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
