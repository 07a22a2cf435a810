import Basics

/// The parts of an http or https URL (RFC 3986) without user name and fragment.
package struct WebParts: Hashable, Sendable {
  package var scheme: String
  /// In lower case; an IPv6 address with its brackets.
  package var host: String
  package var port: Int?
  /// Empty, or from the first slash on.
  package var path: String
  /// The text after the question mark.
  package var query: String?

  /// Returns nil unless the text is such a URL with plain characters.
  package init?(_ text: String) {
    guard let scheme = ["https", "http"].first(where: { text.hasPrefix($0 + "://") }) else {
      return nil
    }
    self.scheme = scheme
    let rest = text.dropFirst(scheme.count + 3)
    let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
    guard let (host, port) = Self.authority(rest[..<end]) else { return nil }
    self.host = host
    self.port = port
    let tail = rest[end...]
    let question = tail.firstIndex(of: "?")
    path = String(tail[..<(question ?? tail.endIndex)])
    query = question.map { String(tail[tail.index(after: $0)...]) }
    guard Self.isPlain(path), Self.isPlain(query ?? "") else { return nil }
  }

  /// Scheme, host and port.
  package var origin: String {
    "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "")
  }

  /// Whether it is encrypted, or never leaves this machine.
  package var isSafe: Bool {
    scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(host)
  }

  private static func authority(_ text: Substring) -> (host: String, port: Int?)? {
    let hostEnd: Substring.Index
    if text.hasPrefix("[") {
      guard let close = text.firstIndex(of: "]") else { return nil }
      hostEnd = text.index(after: close)
      let inside = text[text.index(after: text.startIndex)..<close]
      guard !inside.isEmpty,
        inside.utf8.allSatisfy({ ASCII.isHexDigit($0) || $0 == 0x3A || $0 == 0x2E })
      else { return nil }
    } else {
      hostEnd = text.firstIndex(of: ":") ?? text.endIndex
      guard hostEnd > text.startIndex,
        text[..<hostEnd].utf8.allSatisfy({ ASCII.isIdentifier($0) || $0 == 0x2E })
      else { return nil }
    }
    let host = text[..<hostEnd].lowercased()
    let rest = text[hostEnd...]
    if rest.isEmpty { return (host, nil) }
    guard rest.hasPrefix(":"), rest.dropFirst().utf8.allSatisfy(ASCII.isDigit),
      let port = Int(rest.dropFirst()), (1...65_535).contains(port)
    else { return nil }
    return (host, port)
  }

  /// Whether a path or a query has only allowed characters: unreserved ones, delimiters, and bytes
  /// as `%XX`.
  private static func isPlain(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x25 {
        guard index + 2 < bytes.count, ASCII.isHexDigit(bytes[index + 1]),
          ASCII.isHexDigit(bytes[index + 2])
        else { return false }
        index += 3
        continue
      }
      guard ASCII.isIdentifier(byte) || marks.contains(byte) else { return false }
      index += 1
    }
    return true
  }

  private static let marks = Set(".~!$&'()*+,;=:@/?".utf8)
}
