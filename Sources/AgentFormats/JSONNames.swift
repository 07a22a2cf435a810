#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds names that stand twice in one object of JSON, or that Unicode takes for the same (`é` in one or two scalars).
/// Programs disagree about which of the two values counts, so a person could read another one than the tool gets.
struct JSONNames {
  private(set) var hasTwins = false
  /// The objects and arrays that are open, with the names so far; nil for an array.
  private var open: [Set<String>?] = []
  /// Whether a text that comes next is a name.
  private var expectsName = false

  /// - Parameter bytes: what a JSON decoder takes.
  init(_ bytes: [UInt8]) {
    var start: Int?
    var isEscaped = false
    for (index, byte) in bytes.enumerated() {
      guard let begin = start else {
        if byte == UInt8(ascii: "\"") { start = index } else { note(byte) }
        continue
      }
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        if expectsName { note(name: bytes[begin...index]) }
        start = nil
      }
    }
  }

  private mutating func note(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"):
      open.append([])
      expectsName = true
    case UInt8(ascii: "["):
      open.append(nil)
      expectsName = false
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      _ = open.popLast()
      expectsName = false
    case UInt8(ascii: ","): expectsName = (open.last ?? nil) != nil
    case UInt8(ascii: ":"): expectsName = false
    default: break
    }
  }

  /// - Parameter name: with its quotes.
  private mutating func note(name: ArraySlice<UInt8>) {
    let isPlain = !name.contains(UInt8(ascii: "\\"))
    let plain = String(decoding: name.dropFirst().dropLast(), as: UTF8.self)
    let text = isPlain ? plain : (try? JSONDecoder().decode(String.self, from: Data(name))) ?? plain
    // Swift's texts are equal as Unicode has it.
    guard let level = open.indices.last, open[level]?.insert(text).inserted == false else { return }
    hasTwins = true
  }
}
