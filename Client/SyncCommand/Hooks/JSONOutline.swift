import LocalAPI

/// JSON with the place of every value, to change a file here and there and leave the rest as it is,
/// byte by byte.
///
/// Strict (RFC 8259): a file that another program could not read either is refused with its line.
struct JSONOutline: Equatable {
  indirect enum Value: Equatable {
    /// A string without its escapes.
    case string(String)
    case array([JSONOutline])
    case object([Member])
    /// A number, `true`, `false` or `null`.
    case other
  }

  struct Member: Equatable {
    var key: String
    /// From the key's quotation mark on.
    var start: Int
    var value: JSONOutline
  }

  /// Why text is no JSON.
  struct Fault: Error, Equatable {
    var line: Int
    var reason: String
  }

  static let depthMax = 100
  static let bytesMax = 8 << 20

  /// Offsets of the bytes of the value.
  var range: Range<Int>
  var value: Value

  /// Reads exactly one value.
  init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= JSONOutline.bytesMax else {
      throw Fault(line: 1, reason: "it has more than \(JSONOutline.bytesMax) bytes")
    }
    var scanner = Scanner(bytes: bytes)
    scanner.skipSpace()
    self = try scanner.value(depth: 0)
    scanner.skipSpace()
    if scanner.offset < bytes.count { throw scanner.fault("something follows the value") }
  }

  fileprivate init(range: Range<Int>, value: Value) {
    self.range = range
    self.value = value
  }

  var members: [Member]? { if case .object(let members) = value { members } else { nil } }
  var elements: [JSONOutline]? { if case .array(let elements) = value { elements } else { nil } }
  var text: String? { if case .string(let text) = value { text } else { nil } }

  subscript(_ key: String) -> JSONOutline? { members?.first { $0.key == key }?.value }

  /// Where the values of an array or object begin and end; of an object with their keys.
  var parts: [Range<Int>] {
    switch value {
    case .array(let elements): elements.map(\.range)
    case .object(let members): members.map { $0.start..<$0.value.range.upperBound }
    case .string, .other: []
    }
  }
}

private struct Scanner {
  let bytes: [UInt8]
  var offset = 0

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  func fault(_ reason: String) -> JSONOutline.Fault {
    let line = bytes[..<min(offset, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1
    return JSONOutline.Fault(line: line, reason: reason)
  }

  mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { offset += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let next, Unicode.Scalar(next) == character else { return false }
    offset += 1
    return true
  }

  mutating func value(depth: Int) throws(JSONOutline.Fault) -> JSONOutline {
    guard depth <= JSONOutline.depthMax else { throw fault("it is nested too deep") }
    let start = offset
    let value: JSONOutline.Value
    switch next {
    case UInt8(ascii: "{"): value = .object(try members(depth: depth))
    case UInt8(ascii: "["): value = .array(try elements(depth: depth))
    case UInt8(ascii: "\""): value = .string(try string())
    case nil: throw fault("a value is missing at its end")
    default:
      try word()
      value = .other
    }
    return JSONOutline(range: start..<offset, value: value)
  }

  private mutating func elements(depth: Int) throws(JSONOutline.Fault) -> [JSONOutline] {
    offset += 1
    var elements: [JSONOutline] = []
    skipSpace()
    if take("]") { return elements }
    while true {
      skipSpace()
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if take("]") { return elements }
      guard take(",") else { throw fault("a comma or ] is missing") }
    }
  }

  private mutating func members(depth: Int) throws(JSONOutline.Fault) -> [JSONOutline.Member] {
    offset += 1
    var members: [JSONOutline.Member] = []
    skipSpace()
    if take("}") { return members }
    while true {
      skipSpace()
      let start = offset
      guard next == UInt8(ascii: "\"") else { throw fault("a key in quotation marks is missing") }
      let key = try string()
      skipSpace()
      guard take(":") else { throw fault("a colon is missing") }
      skipSpace()
      let value = try value(depth: depth + 1)
      if members.contains(where: { $0.key == key }) {
        throw fault("the key \"\(key)\" stands there twice")
      }
      members.append(JSONOutline.Member(key: key, start: start, value: value))
      skipSpace()
      if take("}") { return members }
      guard take(",") else { throw fault("a comma or } is missing") }
    }
  }

  private mutating func word() throws(JSONOutline.Fault) {
    let start = offset
    while let byte = next,
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        || [UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")]
          .contains(byte)
    { offset += 1 }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    let isNumber =
      text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
    guard isNumber || ["true", "false", "null"].contains(text) else {
      offset = start
      throw fault("this is no JSON value")
    }
  }

  private mutating func string() throws(JSONOutline.Fault) -> String {
    offset += 1
    var content: [UInt8] = []
    while let byte = next {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: content, as: UTF8.self) else {
          throw fault("a text is no UTF-8")
        }
        return text
      case UInt8(ascii: "\\"): content += Array(try escape().utf8)
      case ..<0x20:
        offset -= 1
        throw fault("a control character stands in a text")
      default: content.append(byte)
      }
    }
    throw fault("a text has no end")
  }

  private mutating func escape() throws(JSONOutline.Fault) -> Unicode.Scalar {
    guard let letter = next else { throw fault("an escape is cut off") }
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
    default: throw fault("there is no such escape")
    }
    let unit = try hexadecimal()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard (0xD800..<0xDC00).contains(unit), take("\\"), take("u") else {
      throw fault("half of a surrogate pair stands alone")
    }
    let second = try hexadecimal()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00))
    else { throw fault("half of a surrogate pair stands alone") }
    return scalar
  }

  private mutating func hexadecimal() throws(JSONOutline.Fault) -> UInt32 {
    guard offset + 4 <= bytes.count,
      let unit = UInt32(String(decoding: bytes[offset..<offset + 4], as: UTF8.self), radix: 16),
      bytes[offset] != UInt8(ascii: "+"), bytes[offset] != UInt8(ascii: "-")
    else { throw fault("four hexadecimal digits are missing") }
    offset += 4
    return unit
  }
}
