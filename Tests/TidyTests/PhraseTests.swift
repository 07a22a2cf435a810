import Testing

/// Phrases that native readers stumble over do not spread. ARCHITECTURE.md has the rules of the
/// language.
@Suite struct PhraseTests {
  /// How often each phrase may occur in the project. Lower a number when you remove some; never
  /// raise one. A phrase is a run of words: letters and apostrophes in lower case, whatever
  /// separates them, over the ends of lines, too. The CHANGELOG and this file are not read.
  static let ceilings: [String: Int] = [
    "nobody": 31, "nobody knows": 0, "nobody can": 0, "of which nobody": 0,
    "as long as nobody": 0,
    "is told": 14, "are told": 0, "was told": 2, "be told": 1, "tells of": 0,
    "asks leave": 0, "asks for leave": 0, "ask for leave": 0, "leave is": 0,
    "stands still": 1, "stand still": 0, "stands there": 1, "what stands": 1, "what lies": 0,
    "what is over": 1, "that are over": 0, "what became of": 1, "is harmless": 1,
    "let in": 7, "lets in": 0, "goes on without": 0, "gives back": 0, "is due": 14, "stays so": 2,
    "where nothing": 0, "where nobody": 0, "where somebody": 0, "where none": 0,
    "where it is not": 0, "where it does not": 0, "where there is": 0, "where there are": 0,
    "where one is": 0, "where that is": 0, "takes no": 4, "is no json": 0, "is no uuid": 0,
    "it is said": 0, "anew": 0,
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
