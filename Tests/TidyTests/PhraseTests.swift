import Testing

/// Phrases that native readers stumble over do not spread. ARCHITECTURE.md has the rules of the language.
@Suite struct PhraseTests {
  /// How often each phrase may occur in the project. Lower a number when you remove some; never raise one.
  /// A phrase is a run of words: letters and apostrophes in lower case, whatever separates them, over the
  /// ends of lines, too. The CHANGELOG and this file are not read.
  static let ceilings: [String: Int] = [
    "nobody": 523, "nobody knows": 45, "nobody can": 42, "of which nobody": 11,
    "as long as nobody": 3,
    "is told": 207, "are told": 50, "was told": 70, "be told": 46, "tells of": 12,
    "asks leave": 11, "asks for leave": 6, "ask for leave": 7, "leave is": 1,
    "stands still": 23, "stand still": 2, "stands there": 24, "what stands": 93, "what lies": 8,
    "what is over": 10, "that are over": 9, "what became of": 109, "is harmless": 6,
    "let in": 43, "lets in": 9, "goes on without": 12, "gives back": 4, "is due": 44, "stays so": 4,
    "where nothing": 90, "where nobody": 47, "where somebody": 11, "where none": 75,
    "where it is not": 43, "where it does not": 25, "where there is": 103, "where there are": 21,
    "where one is": 7, "where that is": 42, "takes no": 24, "is no json": 13, "is no uuid": 3,
    "it is said": 6, "anew": 146,
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
