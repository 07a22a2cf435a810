/// Reads JSON (RFC 8259) as a tree, in one pass.
///
/// Foundation's decoder has to guess the kind of each value, and each wrong guess makes an error
/// that names all levels around it. A text of 256 KiB with 90 levels took seconds, and agents write
/// texts of many MiB. No text can make this reader trap.
///
/// - Complexity: O(bytes)
struct JSONTreeReader {
  private let bytes: [UInt8]
  /// Whether a user makes a decision from the result; see `JSONTree.init(_:isShown:)`.
  private let isShown: Bool
  private var offset = 0

  private init(_ bytes: [UInt8], isShown: Bool) {
    self.bytes = bytes
    self.isShown = isShown
  }

  /// - Parameter bytes: UTF-8, with or without a byte order mark.
  /// - Returns: nil unless there is exactly one value.
  static func read(_ bytes: [UInt8], isShown: Bool) -> JSONTree? {
    var reader = JSONTreeReader(bytes, isShown: isShown)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.offset = 3 }
    guard let tree = reader.value(depth: 0), reader.next == nil else { return nil }
    return tree
  }

  private func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

  /// The next byte after white space.
  private var next: UInt8? {
    mutating get {
      while let byte = at(offset), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
        offset += 1
      }
      return at(offset)
    }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let byte = next, Unicode.Scalar(byte) == character else { return false }
    offset += 1
    return true
  }

  private mutating func value(depth: Int) -> JSONTree? {
    guard let byte = next else { return nil }
    switch byte {
    case UInt8(ascii: "{"): return depth < JSONTree.depthMax ? object(depth: depth + 1) : nil
    case UInt8(ascii: "["): return depth < JSONTree.depthMax ? array(depth: depth + 1) : nil
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return passes("true") ? .boolean(true) : nil
    case UInt8(ascii: "f"): return passes("false") ? .boolean(false) : nil
    case UInt8(ascii: "n"): return passes("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func passes(_ text: String) -> Bool {
    guard bytes[offset...].starts(with: text.utf8) else { return false }
    offset += text.utf8.count
    return true
  }

  private mutating func array(depth: Int) -> JSONTree? {
    offset += 1
    var elements: [JSONTree] = []
    if take("]") { return .array(elements) }
    repeat {
      guard let element = value(depth: depth) else { return nil }
      elements.append(element)
    } while take(",")
    return take("]") ? .array(elements) : nil
  }

  /// If two members have the same name, the first one counts.
  private mutating func object(depth: Int) -> JSONTree? {
    offset += 1
    var members: [String: JSONTree] = [:]
    if take("}") { return .object(members) }
    repeat {
      guard next == UInt8(ascii: "\""), let name = string(), take(":"),
        let value = value(depth: depth)
      else { return nil }
      // Swift compares texts by canonical equivalence.
      if members[name] == nil {
        members[name] = value
      } else if isShown {
        return nil
      }
    } while take(",")
    return take("}") ? .object(members) : nil
  }
}

// Numbers and texts.
extension JSONTreeReader {
  private mutating func number() -> JSONTree? {
    let start = offset
    if at(offset) == UInt8(ascii: "-") { offset += 1 }
    if at(offset) == UInt8(ascii: "0") { offset += 1 } else if !passDigits() { return nil }
    if at(offset) == UInt8(ascii: ".") {
      offset += 1
      guard passDigits() else { return nil }
    }
    if let byte = at(offset), byte | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if let sign = at(offset), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        offset += 1
      }
      guard passDigits() else { return nil }
    }
    let digits = bytes[start..<offset]
    if isShown, !JSONNumbers.isExact(digits) { return nil }
    let text = String(decoding: digits, as: UTF8.self)
    guard let double = Double(text), double.isFinite else { return nil }
    if abs(double) >= JSONTree.exactMax, let whole = Int64(text) ?? Int64(exactly: double) {
      return .whole(whole)
    }
    return .number(double)
  }

  /// Whether there is at least one digit.
  private mutating func passDigits() -> Bool {
    let start = offset
    while let byte = at(offset), JSONNumbers.isDigit(byte) { offset += 1 }
    return offset > start
  }

  /// A text with its quotes.
  private mutating func string() -> String? {
    offset += 1
    var content: [UInt8] = []
    var start = offset
    while let byte = at(offset), byte >= 0x20 {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        let rest = bytes[start..<(offset - 1)]
        return String(decoding: content.isEmpty ? rest : (content + rest)[...], as: UTF8.self)
      case UInt8(ascii: "\\"):
        content += bytes[start..<offset]
        offset += 1
        guard let scalar = escape() else { return nil }
        content += String(scalar).utf8
        start = offset
      default: offset += 1
      }
    }
    return nil
  }

  /// The escape that follows a backslash.
  private mutating func escape() -> Unicode.Scalar? {
    guard let letter = at(offset) else { return nil }
    offset += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: return nil
    }
    guard let unit = unit() else { return nil }
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00, passes("\\u"), let low = self.unit(),
      (0xDC00..<0xE000).contains(low)
    else { return nil }
    return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
  }

  /// Four hexadecimal digits.
  private mutating func unit() -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = at(offset), byte < 0x80,
        let digit = Character(Unicode.Scalar(byte)).hexDigitValue
      else { return nil }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}
