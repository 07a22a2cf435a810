import Testing

/// Phrases that native readers stumble over do not spread. ARCHITECTURE.md has the rules of the
/// language.
@Suite struct PhraseTests {
  /// How often each phrase may occur in the project. Lower a number when you remove some; never
  /// raise one. A phrase is a run of words: letters and apostrophes in lower case, whatever
  /// separates them, over the ends of lines, too. The CHANGELOG and this file are not read.
  static let ceilings: [String: Int] = [
    "nobody": 160, "nobody knows": 11, "nobody can": 13, "of which nobody": 3,
    "as long as nobody": 1,
    "is told": 42, "are told": 6, "was told": 12, "be told": 12, "tells of": 2,
    "asks leave": 4, "asks for leave": 2, "ask for leave": 0, "leave is": 1,
    "stands still": 7, "stand still": 1, "stands there": 15, "what stands": 26, "what lies": 4,
    "what is over": 2, "that are over": 4, "what became of": 15, "is harmless": 1,
    "let in": 13, "lets in": 1, "goes on without": 4, "gives back": 0, "is due": 18, "stays so": 2,
    "where nothing": 31, "where nobody": 15, "where somebody": 1, "where none": 25,
    "where it is not": 18, "where it does not": 8, "where there is": 37, "where there are": 9,
    "where one is": 1, "where that is": 13, "takes no": 7, "is no json": 1, "is no uuid": 0,
    "it is said": 2, "anew": 26,
  ]

  @Test func awkwardPhrasesDoNotSpread() throws {
    var found: [String: [(path: String, count: Int)]] = [:]
    for (path, text) in try Repository.texts()
    where path != "CHANGELOG.md" && path != "Tests/TidyTests/PhraseTests.swift" {
      for (phrase, count) in Self.counts(in: text) {
        found[phrase, default: []].append((path, count))
      }
    }
    for (phrase, ceiling) in Self.ceilings {
      let places = found[phrase] ?? []
      let count = places.reduce(0) { $0 + $1.count }
      let names = places.map { "\($0.path): \($0.count)" }.joined(separator: ", ")
      #expect(count <= ceiling, "\"\(phrase)\" occurs \(count) times, not \(ceiling): \(names)")
    }
  }

  @Test func aPhraseIsFoundOverLinesAndAlone() {
    let text = "/// Nobody\n  /// knows, and \"nobody\" can; nobodyknows. What is\nover."
    #expect(
      Self.counts(in: text) == ["nobody": 2, "nobody knows": 1, "nobody can": 1, "what is over": 1])
  }

  private static let byFirstWord: [Substring: [(phrase: String, words: [Substring])]] =
    Dictionary(
      grouping: ceilings.keys.map { (phrase: $0, words: $0.split(separator: " ")) },
      by: { $0.words[0] })

  /// How often each phrase occurs in `text`; those that do not occur are left out.
  private static func counts(in text: String) -> [String: Int] {
    let letters = text.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "'"): byte
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 32
      default: UInt8(ascii: " ")
      }
    }
    let words = String(decoding: letters, as: UTF8.self).split(separator: " ")
    var counts: [String: Int] = [:]
    for (index, word) in words.enumerated() {
      for (phrase, run) in byFirstWord[word] ?? [] where words[index...].starts(with: run) {
        counts[phrase, default: 0] += 1
      }
    }
    return counts
  }
}
