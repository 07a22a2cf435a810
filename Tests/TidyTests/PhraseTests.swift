import Testing

/// Phrases that native readers stumble over do not spread. ARCHITECTURE.md has the rules of the language.
@Suite struct PhraseTests {
  /// How often each phrase may occur in the project. Lower a number when you remove some; never raise one.
  /// A phrase is a run of words: letters and apostrophes in lower case, whatever separates them, over the
  /// ends of lines, too. The CHANGELOG and this file are not read.
  static let ceilings: [String: Int] = [
    "nobody": 478, "nobody knows": 31, "nobody can": 39, "of which nobody": 9,
    "as long as nobody": 3,
    "is told": 191, "are told": 46, "was told": 67, "be told": 44, "tells of": 11,
    "asks leave": 6, "asks for leave": 5, "ask for leave": 6, "leave is": 1,
    "stands still": 18, "stand still": 2, "stands there": 23, "what stands": 80, "what lies": 8,
    "what is over": 8, "that are over": 5, "what became of": 101, "is harmless": 5,
    "let in": 39, "lets in": 7, "goes on without": 11, "gives back": 4, "is due": 43, "stays so": 4,
    "where nothing": 85, "where nobody": 43, "where somebody": 11, "where none": 73,
    "where it is not": 40, "where it does not": 20, "where there is": 98, "where there are": 20,
    "where one is": 6, "where that is": 38, "takes no": 18, "is no json": 5, "is no uuid": 0,
    "it is said": 3, "anew": 125,
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
