/// A strict reader of JSON (RFC 8259) that records the position of every value.
///
/// Foundation's decoder does not report the position of a value. This reader also refuses what the
/// RFC leaves open: duplicate keys, a byte order mark, lone surrogates, more than `depthMax`
/// levels. No text can make it trap.
///
/// - Complexity: O(bytes); memory is a small multiple of the text.
package struct JSONReader {
  /// Levels of arrays and objects.
  package static let depthMax = 100

  private let bytes: [UInt8]
  private var offset = 0
  private var lineStart = 0
  private var line = 1
  /// UTF-8 continuation bytes since the start of the line; they are not columns of their own.
  private var continuations = 0

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Reads exactly one value, with only white space around it.
  package static func read(_ bytes: [UInt8]) throws(JSONFault) -> PositionedJSON {
    var reader = JSONReader(bytes)
    reader.skipWhiteSpace()
    let value = try reader.value(depth: 0)
    reader.skipWhiteSpace()
    guard reader.offset == bytes.count else {
      throw reader.error("unexpected \(reader.found) after the value")
    }
    return value
  }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private var position: TextPosition {
    TextPosition(line: line, column: offset - lineStart - continuations + 1)
  }

  private func error(_ message: String) -> JSONFault { JSONFault(message, at: position) }

  /// The next character, for error messages.
  private var found: String {
    guard let next else { return "the end of the text" }
    switch next {
    case 0x21...0x7E: return "'\(Character(Unicode.Scalar(next)))'"
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return "the end of the line"
    case 0x80...: return "a character that is not ASCII"
    default: return "a control character"
    }
  }

  private mutating func skipWhiteSpace() {
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\n"):
        offset += 1
        line += 1
        lineStart = offset
        continuations = 0
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
        offset += 1
      default:
        return
      }
    }
  }

  private mutating func value(depth: Int) throws(JSONFault) -> PositionedJSON {
    guard let byte = next else { throw error("a value is missing at the end of the text") }
    let (start, first) = (position, offset)
    let value: PositionedJSON.Value
    switch byte {
    case UInt8(ascii: "{"): value = .object(try members(depth: depth + 1))
    case UInt8(ascii: "["): value = .array(try elements(depth: depth + 1))
    case UInt8(ascii: "\""): value = .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): value = .number(try number())
    case UInt8(ascii: "t"): value = try word("true", .boolean(true))
    case UInt8(ascii: "f"): value = try word("false", .boolean(false))
    case UInt8(ascii: "n"): value = try word("null", .null)
    default: throw error("expected a value, not \(found)")
    }
    return PositionedJSON(value: value, position: start, range: first..<offset)
  }

  private mutating func word(
    _ word: String, _ value: PositionedJSON.Value
  ) throws(JSONFault) -> PositionedJSON.Value {
    guard bytes[offset...].starts(with: word.utf8) else {
      throw error("expected a value; this is neither true, false nor null")
    }
    offset += word.utf8.count
    return value
  }

  private func checkDepth(_ depth: Int) throws(JSONFault) {
    guard depth <= Self.depthMax else {
      throw error("arrays and objects may be at most \(Self.depthMax) levels deep")
    }
  }

  private mutating func elements(depth: Int) throws(JSONFault) -> [PositionedJSON] {
    try checkDepth(depth)
    offset += 1
    skipWhiteSpace()
    var elements: [PositionedJSON] = []
    if take("]") { return elements }
    while true {
      elements.append(try value(depth: depth))
      skipWhiteSpace()
      if take("]") { return elements }
      guard take(",") else { throw error("expected ',' or ']', not \(found)") }
      skipWhiteSpace()
    }
  }

  private mutating func members(depth: Int) throws(JSONFault) -> [PositionedJSON.Member] {
    try checkDepth(depth)
    offset += 1
    skipWhiteSpace()
    var members: [PositionedJSON.Member] = []
    var keys: Set<[UInt8]> = []
    if take("}") { return members }
    while true {
      let (start, first) = (position, offset)
      guard next == UInt8(ascii: "\"") else {
        throw error("expected a key in quotes, not \(found)")
      }
      let key = try string()
      // Compared by bytes: canonically equivalent keys are different keys.
      guard keys.insert(Array(key.utf8)).inserted else {
        throw JSONFault("the key \"\(key)\" occurs a second time", at: start)
      }
      skipWhiteSpace()
      guard take(":") else { throw error("expected ':' after the key, not \(found)") }
      skipWhiteSpace()
      let value = try value(depth: depth)
      members.append(
        PositionedJSON.Member(
          key: key, position: start, range: first..<offset, value: value))
      skipWhiteSpace()
      if take("}") { return members }
      guard take(",") else { throw error("expected ',' or '}', not \(found)") }
      skipWhiteSpace()
    }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let next, Unicode.Scalar(next) == character else { return false }
    offset += 1
    return true
  }
}

// Numbers and strings.
extension JSONReader {
  /// The maximum number of digits; more would be truncated later.
  private static let numberBytesMax = 64

  private mutating func number() throws(JSONFault) -> String {
    let start = offset
    _ = take("-")
    if !take("0") { try digits("expected a digit after '-'") }
    if take(".") { try digits("expected a digit after the decimal point") }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits("expected a digit in the exponent")
    }
    if let next, next == UInt8(ascii: ".") || isDigit(next) {
      throw error("this number is not written as JSON requires")
    }
    guard offset - start <= Self.numberBytesMax else { throw error("this number is too long") }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func digits(_ complaint: String) throws(JSONFault) {
    guard let first = next, isDigit(first) else { throw error("\(complaint), not \(found)") }
    while let byte = next, isDigit(byte) { offset += 1 }
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private mutating func string() throws(JSONFault) -> String {
    let opening = position
    offset += 1
    var content: [UInt8] = []
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return String(decoding: content, as: UTF8.self)
      case UInt8(ascii: "\\"):
        content.append(contentsOf: try escape().utf8)
      case ..<0x20:
        throw error("a control character must be written as an escape, such as \\n")
      case ..<0x80:
        let run = bytes[offset...].prefix { $0 >= 0x20 && $0 < 0x80 && $0 != 0x22 && $0 != 0x5C }
        content.append(contentsOf: run)
        offset += run.count
      default:
        try takeScalar(into: &content)
      }
    }
    throw JSONFault("this string is not closed", at: opening)
  }

  /// Reads one valid scalar of two to four UTF-8 bytes.
  private mutating func takeScalar(into content: inout [UInt8]) throws(JSONFault) {
    var decoder = UTF8()
    var iterator = bytes[offset..<min(offset + 4, bytes.count)].makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
      throw error("this byte is not UTF-8")
    }
    let count = UTF8.width(scalar)
    content.append(contentsOf: bytes[offset..<offset + count])
    offset += count
    continuations += count - 1
  }

  private mutating func escape() throws(JSONFault) -> Unicode.Scalar {
    let start = position
    offset += 1
    guard let letter = next else { throw error("the escape is cut off") }
    offset += 1
    switch letter {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw JSONFault("unknown escape", at: start)
    }
    let unit = try hexadecimal(start)
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard (0xD800..<0xDC00).contains(unit), take("\\"), take("u") else {
      throw JSONFault("this is only half of a surrogate pair", at: start)
    }
    let second = try hexadecimal(start)
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00))
    else { throw JSONFault("this is only half of a surrogate pair", at: start) }
    return scalar
  }

  private mutating func hexadecimal(_ start: TextPosition) throws(JSONFault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw JSONFault("expected four hexadecimal digits after \\u", at: start)
      }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}
