import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Two concurrent edits of one text merge by words, never inside a word.
struct WordMergeTests {
  /// The text on both devices after each has saved its own version.
  private func merged(
    _ base: String, _ first: String, _ second: String, replicas: (UInt64, UInt64) = (1, 2)
  ) throws -> String {
    var one = TestDevice(replicas.0)
    try one.perform(.send(base, as: 1, in: "s", requeues: false))
    var other = TestDevice(replicas.1)
    try other.merge(one.made)
    try one.perform(.edit(.numbered(1), content: first, base: nil))
    try other.perform(.edit(.numbered(1), content: second, base: nil))
    #expect(try one.workspace.message(.numbered(1)).content == first)
    #expect(try other.workspace.message(.numbered(1)).content == second)
    try one.merge(other.made)
    try other.merge(one.made)
    let text = try one.workspace.message(.numbered(1)).content
    #expect(try other.workspace.message(.numbered(1)).content == text)
    return text
  }

  struct Pair: CustomTestStringConvertible {
    var base: String
    var first: String
    var second: String
    /// The allowed results, whichever device's words come first.
    var merged: Set<String>

    init(_ base: String, _ first: String, _ second: String, _ merged: String...) {
      self.base = base
      self.first = first
      self.second = second
      self.merged = Set(merged)
    }

    var testDescription: String { "\(first) ∥ \(second)" }
  }

  static let pairs = [
    Pair(
      "Bump the version to 1.2", "Bump the version to 1.3", "Bump the version to 2.0",
      "Bump the version to 1.3 2.0", "Bump the version to 2.0 1.3"),
    Pair(
      "Write the release notes", "Deploy to staging", "Rewrite everything in Rust",
      "Deploy to stagingRewrite everything in Rust", "Rewrite everything in RustDeploy to staging"),
    Pair(
      "Use a file for the store", "Use SQLite for the store", "Use MySQL for the store",
      "Use SQLite MySQL for the store", "Use MySQL SQLite for the store"),
    Pair(
      "Fix the flaky test", "Fix both flaky tests", "Skip the flaky test", "Skip  both flaky tests"),
    Pair(
      "Deploy to staging", "Deploy to production", "Do not deploy", "Do not deploy production"),
    Pair(
      "Run the tests", "Run all tests", "Run the build", "Run all build"),
    Pair(
      "Delete the cache", "Keep the cache", "Move the cache", "Keep Move the cache",
      "Move Keep the cache"),
    Pair(
      "Set the timeout to 30 s", "Set the timeout to 10 s", "Set the timeout to 60 s",
      "Set the timeout to 10 60 s", "Set the timeout to 60 10 s"),
    Pair(
      "Set the timeout to 30 s", "Set the limit to 30 s", "Set the timeout to 60 s",
      "Set the limit to 60 s"),
    Pair(
      "Add a retry", "Add a retry with backoff", "Add a retry three times",
      "Add a retry with backoff three times", "Add a retry three times with backoff"),
    Pair(
      "Add a retry", "Please add a retry", "Now add a retry", "Please add Now add a retry",
      "Now add Please add a retry"),
    Pair(
      "Do A, B and C", "Do A and C", "Do A, B, C and D", "Do A B, C and D"),
    Pair(
      "Rename user_id to uid", "Rename user_id to userID", "Rename user_id to id",
      "Rename user_id to userID id", "Rename user_id to id userID"),
    Pair(
      "one\ntwo\nthree", "one\n2\nthree", "one\nzwei\nthree", "one\n2\nzwei\nthree",
      "one\nzwei\n2\nthree"),
    Pair(
      "one\ntwo\nthree", "one\ntwo\nthree\nfour", "one\ntwo\nthree\nfünf",
      "one\ntwo\nthree\nfour\nfünf", "one\ntwo\nthree\nfünf\nfour"),
    Pair(
      "- a\n- b", "- a\n- x\n- b", "- a\n- y\n- b", "- a\n- x\n- y\n- b", "- a\n- y\n- x\n- b"),
    Pair(
      "Fix src/a.swift", "Fix src/b.swift", "Fix src/c.swift", "Fix src/b.swift src/c.swift",
      "Fix src/c.swift src/b.swift"),
    Pair(
      "Commit and push", "Commit", "Commit, push and tag", "Commit, push  tag"),
    Pair(
      "Never force-push", "Force-push", "Never push", "Force-push push"),
    Pair(
      "See https://example.org/1", "See https://example.org/2", "See https://example.org/3",
      "See https://example.org/2 https://example.org/3",
      "See https://example.org/3 https://example.org/2"),
    Pair(
      "Größe ändern", "Breite ändern", "Höhe ändern", "Breite Höhe ändern", "Höhe Breite ändern"),
    Pair(
      "看看日志，修复测试。", "看看日志，重写测试。", "看看日志，删除测试。", "看看日志，重写测试。删除测试。", "看看日志，删除测试。重写测试。"),
    Pair(
      "say \"no\"", "say \"yes\"", "say \"maybe\"", "say \"yes\" \"maybe\"", "say \"maybe\" \"yes\""
    ),
    Pair(
      "Fix all tests", "Fix all slow tests", "Fix every test", "Fix slow every test",
      "Fix every test slow"),
  ]

  @Test(arguments: pairs, [(1, 2), (2, 1)] as [(UInt64, UInt64)])
  func bothReplacementsStayWhole(_ pair: Pair, _ replicas: (UInt64, UInt64)) throws {
    let text = try merged(pair.base, pair.first, pair.second, replicas: replicas)
    #expect(pair.merged.contains(text), "\(text)")
  }

  /// Text that is written after a blank, or between two, includes one.
  @Test(arguments: [
    ["fix it ", "fix it now", "fix it later"], ["fix  it", "fix now it", "fix later it"],
    ["fix it\n", "fix it\nnow", "fix it\nlater"],
  ])
  func wordsStayWordsBehindABlank(_ texts: [String]) throws {
    for replicas in [(1, 2), (2, 1)] as [(UInt64, UInt64)] {
      let text = try merged(texts[0], texts[1], texts[2], replicas: replicas)
      let words = Set(text.split(whereSeparator: \.isWhitespace))
      #expect(words.isSubset(of: ["fix", "it", "now", "later"]), "\(text)")
    }
  }

  /// A user wrote every word of the result, wherever words are inserted, deleted or replaced, if
  /// the blanks between the others are unchanged.
  @Test(arguments: TestSeeds.list(standard: 300, from: 1_700))
  func randomEditsMakeNoWord(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let words = ["keep "] + (0...generator.below(5)).map { "w\($0) " }
    let base = words.joined()
    func edited(_ name: String) -> String {
      var edited = words
      for number in 0...generator.below(2) {
        let place = 1 + generator.below(edited.count)
        let end = min(edited.count, place + generator.below(3))
        edited.replaceSubrange(
          place..<end, with: generator.chance(80) ? ["\(name)\(number) "] : [])
      }
      return edited.joined().trimmedOfWhitespace()
    }
    let (mine, theirs) = (edited("mine"), edited("theirs"))
    var one = TestDevice(1)
    try one.perform(.send("x", as: 1, in: "s", requeues: false))
    // Typed text may end with a blank.
    try one.perform(.insertText(.numbered(1), at: 0, text: base))
    let shown = base.unicodeScalars.count + 1
    try one.perform(.deleteText(.numbered(1), shown - 1..<shown))
    var other = TestDevice(2)
    try other.merge(one.made)
    try one.perform(.edit(.numbered(1), content: mine, base: nil))
    try other.perform(.edit(.numbered(1), content: theirs, base: nil))
    try one.merge(other.made)
    let text = try one.workspace.message(.numbered(1)).content
    func set(_ text: String) -> Set<Substring> { Set(text.split(whereSeparator: \.isWhitespace)) }
    let quoted = [base, mine, theirs, text].map(\.debugDescription).joined(separator: " ")
    #expect(set(text).isSubset(of: set(base).union(set(mine)).union(set(theirs))), "\(quoted)")
  }

  /// If two edits replaced the same words, each replacement stays whole. If they replaced different
  /// words, both are in the text.
  @Test(arguments: TestSeeds.list(standard: 200, from: 700))
  func randomEditsMergeByWords(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let blanks = [" ", " ", " ", "\n", "\n\n", "  ", "\t"]
    func text(_ words: [String], _ gaps: [String]) -> String {
      zip(words, gaps).map { $0 + $1 }.joined().trimmedOfWhitespace()
    }
    let count = 1 + generator.below(12)
    let words = (0..<count).map { _ in "w\(generator.below(6))" }
    let gaps = (0..<count).map { _ in blanks[generator.below(blanks.count)] }
    func replacement(_ name: String) -> [String] {
      (0...generator.below(3)).map { "\(name)\($0)" }
    }
    func replaced(_ range: Range<Int>, by new: [String]) -> String {
      var (words, gaps) = (words, gaps)
      let end = gaps[range.upperBound - 1]
      words.replaceSubrange(range, with: new)
      gaps.replaceSubrange(range, with: Array(repeating: " ", count: new.count - 1) + [end])
      return text(words, gaps)
    }
    let base = text(words, gaps)
    let (mine, theirs) = (replacement("mine"), replacement("theirs"))
    let start = generator.below(count)
    let range = start..<start + 1 + generator.below(count - start)
    let both = try merged(base, replaced(range, by: mine), replaced(range, by: theirs))
    // If both replace the whole text, no blank is left between them.
    let isWhole = range == 0..<count
    let shown = both.split(whereSeparator: \.isWhitespace).map(String.init)
    let kept = shown.joined(separator: " ")
    for words in [mine, theirs] {
      #expect(
        isWhole ? kept.contains(words.joined(separator: " ")) : shown.contains(words),
        "seed \(seed): \(base) to \(both)")
    }
    let sum = count - range.count + mine.count + theirs.count
    #expect(shown.count == (isWhole ? sum - 1 : sum), "seed \(seed): \(both)")
    let places = Array(0..<count).shuffled(using: &generator).prefix(2).sorted()
    guard places.count == 2 else { return }
    let apart = try merged(
      base, replaced(places[0]..<places[0] + 1, by: mine),
      replaced(places[1]..<places[1] + 1, by: theirs))
    var expected = words
    expected.replaceSubrange(places[1]...places[1], with: theirs)
    expected.replaceSubrange(places[0]...places[0], with: mine)
    #expect(
      apart.split(whereSeparator: \.isWhitespace).map(String.init) == expected,
      "seed \(seed): \(base) to \(apart)")
  }
}
