/// Decides whether an agent's text reports that its provider refuses more work for now.
///
/// | in the words | counts |
/// |---|---|
/// | `rate limit`, `rate limited`, `rate_limit_error`, `usage limit` | as words of their own, not of a disk |
/// | `quota exceeded`, `exceeded your current quota` | not of a disk |
/// | `overloaded_error`; nothing but `Overloaded` | yes |
/// | `429` | beside `HTTP`, `status` or `error`, or before `Too Many Requests` |
///
/// After a limit, a prompt is repeated automatically. So text that only resembles a limit must not
/// count: line numbers, ids, and errors of the program that the agent works on.
struct LimitWords: Sendable {
  /// A run of letters, digits and underscores in lower case, and the text up to the next run.
  private struct Word: Sendable {
    var text = ""
    var gap = ""
  }

  private let words: [Word]

  /// - Complexity: O(characters).
  init(_ text: String) {
    var words: [Word] = []
    var isInside = false
    for character in text.lowercased() {
      let isPart = character.isLetter || character.isNumber || character == "_"
      if isPart {
        if !isInside { words.append(Word()) }
        words[words.count - 1].text.append(character)
      } else if !words.isEmpty {
        words[words.count - 1].gap.append(character)
      }
      isInside = isPart
    }
    self.words = words
  }

  /// Whether the text names a limit of requests.
  ///
  /// - Complexity: O(words).
  var nameRateLimit: Bool {
    if words.count == 1, words[0].text == "overloaded" { return true }
    return words.indices.contains { index in
      let word = words[index].text
      let next = text(at: index + 1)
      return switch word {
      case "rate": ["limit", "limits", "limited", "limiting"].contains(next)
      case "usage": ["limit", "limits"].contains(next) && text(at: index - 1) != "disk"
      case "rate_limit", "rate_limited", "rate_limit_error", "rate_limit_exceeded": true
      case "overloaded_error": true
      case "429": isStatus(at: index)
      default: false
      }
    }
  }

  /// Whether the text reports that a provider's quota is used up.
  ///
  /// - Complexity: O(words).
  var nameQuota: Bool {
    words.indices.contains { index in
      switch words[index].text {
      case "quota": text(at: index + 1) == "exceeded" && text(at: index - 1) != "disk"
      case "exceeded": text(at: index + 1) == "your" && endsInQuota(from: index + 2)
      default: false
      }
    }
  }

  /// Words between `exceeded your` and `quota`.
  private static let betweenMax = 4

  private func endsInQuota(from index: Int) -> Bool {
    let place = (index...(index + LimitWords.betweenMax)).first { text(at: $0) == "quota" }
    return place.map { text(at: $0 - 1) != "disk" } ?? false
  }

  private func text(at index: Int) -> String {
    words.indices.contains(index) ? words[index].text : ""
  }

  /// Whether a number is an HTTP status, judged by the words beside it.
  private func isStatus(at index: Int) -> Bool {
    if text(at: index + 1) == "too", text(at: index + 2) == "many" { return true }
    var before = index - 1
    // `HTTP/1.1 429`, `status code 429`.
    while text(at: before) == "code" || isDigit(text(at: before)) { before -= 1 }
    switch text(at: before) {
    case "http", "status", "statuscode", "status_code": return true
    // `Error: 429 tests failed` counts something.
    case "error": return !isFollowedByWord(index)
    default: return text(at: index + 1) == "error" && !isFollowedByWord(index + 1)
    }
  }

  private func isDigit(_ text: String) -> Bool { text.count == 1 && text.first?.isNumber == true }

  private func isFollowedByWord(_ index: Int) -> Bool {
    index + 1 < words.count && words[index].gap.allSatisfy(\.isWhitespace)
  }
}
