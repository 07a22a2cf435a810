import Basics

/// Finds text that looks like a secret.
///
/// Five rules, each based on the form and not only on a list of services: blocks of PEM; the text
/// after a name such as `password` or `Bearer`; the user and password of a URL; words with a prefix
/// that only keys have; and long words that look random.
struct SecretScanner {
  let bytes: [UInt8]
  private var found: [Range<Int>] = []

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// The ranges to remove, in order and disjoint. They begin and end between ASCII characters, so
  /// that the rest is valid UTF-8.
  mutating func secrets() -> [Range<Int>] {
    findPEM()
    findCredentialsOfURLs()
    for word in words() {
      if isKey(word) || looksRandom(word) { found.append(word) }
      findAfterName(word)
    }
    found.sort { $0.lowerBound < $1.lowerBound }
    var apart: [Range<Int>] = []
    for range in found where !range.isEmpty {
      if let last = apart.last, range.lowerBound <= last.upperBound {
        apart[apart.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        apart.append(range)
      }
    }
    return apart
  }

  // MARK: Words

  /// Letters, digits, and the other characters of base64 and keys.
  private static func isWordByte(_ byte: UInt8) -> Bool {
    ASCII.isIdentifier(byte) || byte == 0x2B || byte == 0x2F || byte == 0x2E || byte == 0x7E
  }

  private func words() -> [Range<Int>] {
    var words: [Range<Int>] = []
    var start: Int?
    for (index, byte) in bytes.enumerated() {
      if Self.isWordByte(byte) {
        if start == nil { start = index }
      } else if let begun = start {
        words.append(begun..<index)
        start = nil
      }
    }
    if let begun = start { words.append(begun..<bytes.count) }
    return words
  }

  private func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }

  // MARK: Blocks

  private mutating func findPEM() {
    let opening = Array("-----BEGIN ".utf8)
    let closing = Array("-----END ".utf8)
    var index = 0
    while let start = position(of: opening, from: index) {
      // Without an end marker, the text was cut inside the key.
      guard let end = position(of: closing, from: start) else {
        found.append(start..<bytes.count)
        return
      }
      let rest = end + closing.count
      let last = bytes[rest...].firstIndex(of: 0x0A) ?? bytes.count
      found.append(start..<last)
      index = last
    }
  }

  private func position(of needle: [UInt8], from start: Int) -> Int? {
    guard bytes.count >= needle.count, start <= bytes.count - needle.count else { return nil }
    return (start...(bytes.count - needle.count)).first { index in
      bytes[index] == needle[0] && bytes[index..<index + needle.count].elementsEqual(needle)
    }
  }

  // MARK: URLs

  /// Finds the text between `://` and the last `@` before the path.
  private mutating func findCredentialsOfURLs() {
    var index = 0
    while let start = position(of: [0x3A, 0x2F, 0x2F], from: index) {
      let authority = start + 3
      var end = authority
      var at: Int?
      while end < bytes.count, bytes[end] > 0x20, ![0x2F, 0x3F, 0x23].contains(bytes[end]) {
        if bytes[end] == 0x40 { at = end }
        end += 1
      }
      if let at { found.append(authority..<at) }
      index = authority
    }
  }

  // MARK: Names

  private static let schemes: Set<String> = ["bearer", "basic", "digest", "negotiate"]
  private static let names = [
    "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey",
    "privatekey", "signingkey", "encryptionkey", "clientkey", "credential", "authorization",
    "cookie", "signature", "sessionid",
  ]

  /// Whether a word announces a secret.
  private static func namesSecret(_ name: String) -> Bool {
    // `pass` only as the whole name or after a separator (`DB_PASS`): other words end in it, too.
    if name == "pass" || name.hasSuffix("_pass") || name.hasSuffix("-pass") { return true }
    let bare = name.filter { $0 != "-" && $0 != "_" && $0 != "." }
    return names.contains(where: bare.hasSuffix)
  }

  /// Finds the text after a word that announces a secret.
  private mutating func findAfterName(_ word: Range<Int>) {
    guard word.count <= 64 else { return }
    let name = text(word).lowercased()
    if Self.schemes.contains(name) {
      // `Basic` and `Digest` are also English words: the text after them must not be a word.
      let value = value(from: skipSpaces(from: word.upperBound))
      if name == "bearer" || value.count >= 12 { found.append(value) }
      return
    }
    guard Self.namesSecret(name) else { return }
    var next = word.upperBound
    // `"password": "…"`, and `\"password\": \"…\"` inside a JSON text.
    let quote = skipBackslashes(from: next)
    if quote < bytes.count, Self.isQuote(bytes[quote]) { next = quote + 1 }
    next = skipSpaces(from: next)
    if next < bytes.count, bytes[next] == 0x3D || bytes[next] == 0x3A {
      next = skipSpaces(from: next + 1)
      // `Authorization: Bearer …` hides the scheme and the next word of the line.
      let first = value(from: next)
      found.append(first)
      if Self.schemes.contains(text(first).lowercased()) {
        found.append(value(from: skipSpaces(from: first.upperBound)))
      }
    } else if name.hasPrefix("-") {
      // `--password …`
      found.append(value(from: next))
    }
  }

  private static func isQuote(_ byte: UInt8) -> Bool {
    byte == 0x22 || byte == 0x27 || byte == 0x60
  }

  private func skipBackslashes(from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index] == 0x5C { index += 1 }
    return index
  }

  private func skipSpaces(from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
    return index
  }

  /// A quoted text, or the text before the next space or comma.
  private func value(from start: Int) -> Range<Int> {
    guard start < bytes.count else { return start..<start }
    if Self.isQuote(bytes[start]) {
      var index = start + 1
      while index < bytes.count, bytes[index] != bytes[start] {
        index += bytes[index] == 0x5C ? 2 : 1
      }
      return start + 1..<min(index, bytes.count)
    }
    let quote = skipBackslashes(from: start)
    if quote > start, quote < bytes.count, Self.isQuote(bytes[quote]) {
      return escapedValue(from: quote, escapes: quote - start)
    }
    var index = start
    while index < bytes.count, bytes[index] > 0x20, ![0x2C, 0x3B, 0x26].contains(bytes[index]) {
      index += 1
    }
    return start..<index
  }

  /// The text after an escaped quote: up to the next one that is escaped no deeper.
  private func escapedValue(from quote: Int, escapes: Int) -> Range<Int> {
    var index = quote + 1
    while index < bytes.count {
      let end = skipBackslashes(from: index)
      if end < bytes.count, bytes[end] == bytes[quote], end - index <= escapes {
        return quote + 1..<index
      }
      index = end + 1
    }
    return quote + 1..<bytes.count
  }

  // MARK: Keys

  private static let prefixes = [
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "glptt-", "xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "npm_",
    "pypi-", "hf_", "tk_", "dop_v1_", "SG.", "shpat_", "whsec_", "eyJ", "AGE-SECRET-KEY-", "gsk_",
    "xai-", "sntrys_", "lin_api_", "vault:", "hvs.", "ntn_", "secret_",
  ]
  private static let keyBytesMin = 12

  private func isKey(_ word: Range<Int>) -> Bool {
    guard word.count >= Self.keyBytesMin else { return false }
    return Self.prefixes.contains { bytes[word].starts(with: $0.utf8) }
  }

  // MARK: Random words

  private static let randomBytesMin = 20
  private static let hexDigitsMin = 32

  /// Random letters and digits switch between small letters, capitals and digits far more often
  /// than words and paths do.
  private func looksRandom(_ word: Range<Int>) -> Bool {
    guard word.count >= Self.randomBytesMin else { return false }
    var changes = 0
    var digits = 0
    var hex = 0
    var counted = 0
    var last: Kind?
    for byte in bytes[word] {
      let kind = Kind(byte)
      if kind == .digit { digits += 1 }
      if ASCII.isHexDigit(byte) { hex += 1 }
      guard let kind else { continue }
      counted += 1
      if let last, last != kind { changes += 1 }
      last = kind
    }
    // The word has only separators, like a line of dashes.
    guard counted >= Self.randomBytesMin else { return false }
    if hex == counted, hex >= Self.hexDigitsMin, digits > 0 { return true }
    return changes * (digits > 0 ? 5 : 3) >= counted
  }

  private enum Kind {
    case small
    case capital
    case digit

    init?(_ byte: UInt8) {
      if ASCII.isDigit(byte) {
        self = .digit
      } else if (0x41...0x5A).contains(byte) {
        self = .capital
      } else if (0x61...0x7A).contains(byte) {
        self = .small
      } else {
        return nil
      }
    }
  }
}
