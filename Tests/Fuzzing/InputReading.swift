import AgentFormats
import Basics

/// Compares two readers of JSON on one text: that of agents' inputs, and the strict one of settings
/// and requests.
enum InputReading {
  static func check(_ bytes: [UInt8]) throws(FuzzFinding) {
    let strict: PositionedJSON
    do {
      strict = try JSONReader.read(bytes)
    } catch {
      // The strict reader only refuses a byte order mark and numbers of more digits in addition.
      let isOdd = error.message.contains("too long") || bytes.first == 0xEF
      try require(
        "a person is shown a text that JSON does not allow: \(error)",
        isOdd || JSONTree(bytes, isShown: true) == nil)
      return
    }
    guard let tree = JSONTree(bytes) else {
      try require("JSON is not read", !isHeld(strict))
      return
    }
    try require("\(tree) is read in place of \(strict)", isSame(tree, strict))
  }

  /// Whether a double is near each number.
  private static func isHeld(_ json: PositionedJSON) -> Bool {
    switch json.value {
    case .null, .boolean, .string: true
    case .number(let text): Double(text)?.isFinite == true
    case .array(let elements): elements.allSatisfy(isHeld)
    case .object(let members): members.allSatisfy { isHeld($0.value) }
    }
  }

  private static func isSame(_ tree: JSONTree, _ json: PositionedJSON) -> Bool {
    switch (tree, json.value) {
    case (.null, .null): return true
    case (.boolean(let flag), .boolean(let read)): return flag == read
    case (.number(let number), .number(let text)): return number == Double(text)
    case (.whole(let whole), .number(let text)):
      return Int64(text).map { $0 == whole } ?? (Double(whole) == Double(text))
    case (.string(let text), .string(let read)): return text.utf8.elementsEqual(read.utf8)
    case (.array(let elements), .array(let read)):
      return elements.count == read.count && zip(elements, read).allSatisfy(isSame)
    case (.object(let members), .object(let read)):
      // The strict reader distinguishes names that Unicode treats as equal; the first of those
      // counts.
      let first = Dictionary(
        read.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      return members.count == first.count
        && first.allSatisfy { name, value in members[name].map { isSame($0, value) } ?? false }
    default: return false
    }
  }
}
