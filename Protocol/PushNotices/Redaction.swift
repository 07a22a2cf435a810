/// Prepares a text for a locked screen and for third-party servers: removes text that looks like a
/// key, a token or a password, and cuts the rest to a length.
///
/// It would rather remove too much: a long hash or an id may go with the secrets. It cannot find a
/// deliberately hidden secret.
package enum Redaction {
  /// The replacement of removed text.
  package static let mark = "[redacted]"

  /// `text` without secrets, with at most `charactersMax` characters, cut between characters.
  ///
  /// - Complexity: O(n) for up to `PushLimits.redactedBytesMax` bytes; the rest is ignored.
  package static func shown(
    _ text: String, charactersMax: Int = PushLimits.shownCharactersMax
  ) -> String {
    let redacted = redacted(text.prefixWithin(bytes: PushLimits.redactedBytesMax))
    guard redacted.count > charactersMax else { return redacted }
    return redacted.prefix(max(charactersMax - 1, 0)) + "…"
  }

  /// `text` with everything that looks like a secret replaced by `mark`.
  package static func redacted(_ text: String) -> String {
    var scanner = SecretScanner(text)
    let found = scanner.secrets()
    guard !found.isEmpty else { return text }
    var bytes: [UInt8] = []
    var index = 0
    for range in found {
      bytes += scanner.bytes[index..<range.lowerBound]
      bytes += mark.utf8
      index = range.upperBound
    }
    bytes += scanner.bytes[index...]
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension StringProtocol {
  /// The longest prefix of whole characters that fits in this many bytes of UTF-8.
  package func prefixWithin(bytes limit: Int) -> String {
    guard utf8.count > limit else { return String(self) }
    var taken = 0
    var end = startIndex
    while end < endIndex {
      let next = index(after: end)
      let size = self[end..<next].utf8.count
      guard taken + size <= limit else { break }
      taken += size
      end = next
    }
    return String(self[..<end])
  }
}
