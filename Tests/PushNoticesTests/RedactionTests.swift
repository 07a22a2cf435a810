import PushNotices
import SyncTestSupport
import Testing

/// Shown text holds no secret and is no longer than allowed.
@Suite struct RedactionTests {
  @Test(arguments: [
    ("export OPENAI_API_KEY=sk-abcdefghijklmnop", "export OPENAI_API_KEY=[redacted]"),
    ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: [redacted] [redacted]"),
    ("psql postgres://ann:hunter2@db.example/x", "psql postgres://[redacted]@db.example/x"),
    (#"{"password": "correct horse", "a": 1}"#, #"{"password": "[redacted]", "a": 1}"#),
    ("mysql --password hunter2 -h db", "mysql --password [redacted] -h db"),
    ("token: abc, next", "token: [redacted], next"),
    (
      "git clone https://ghp_0123456789abcdef@github.com/a/b",
      "git clone https://[redacted]@github.com/a/b"
    ),
    ("sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "sha [redacted]"),
    ("-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\nafter", "[redacted]\nafter"),
    ("-----BEGIN PRIVATE KEY-----\nMIG", "[redacted]"),
    ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
    // JSON within a word of a shell command, and within JSON within JSON.
    (
      #"curl -d "{\"password\":\"hunter2\"}" u"#, #"curl -d "{\"password\":\"[redacted]\"}" u"#
    ),
    (#"{\\\"token\\\": \\\"abc\\\", x"#, #"{\\\"token\\\": \\\"[redacted]\\\", x"#),
    (#"sh -c "k=1 password=\"a b\" ls""#, #"sh -c "k=1 password=\"[redacted]\" ls""#),
    (#"{\"pwd\":\"a\\\"b\", c"#, #"{\"pwd\":\"[redacted]\", c"#),
    (#"{\"secret\":\"cut"#, #"{\"secret\":\"[redacted]"#),
    (
      "DB_PASS=hunter2 SMTP-PASS: x2 --pass y3",
      "DB_PASS=[redacted] SMTP-PASS: [redacted] --pass [redacted]"
    ),
  ]) func knownFormsAreRemoved(text: String, expected: String) {
    #expect(Redaction.redacted(text) == expected)
  }

  @Test(arguments: [
    "Run swift build --configuration release in Sources/SequenceCRDT?",
    "Delete /usr/local/lib/python3.11/site-packages/cryptography/hazmat/bindings",
    "Rename getUserNotificationSettingsFromCenter to notificationSettings",
    "The tokenizer splits words; passwords are not stored. Digest of the meeting: all fine.",
    "Bump swift-nio from 2.100.0 to 2.101.2 on 2026-11-21T20:00:00Z",
    "The bypass: open. Compass=north, and a first pass over the sources", "C:\\passwords\\a",
    "Übung macht den Meister 🎉", "", "-----------------------------------------------",
  ]) func plainWordsStay(text: String) {
    #expect(Redaction.redacted(text) == text)
  }

  /// Plants a secret of a random form among random words, and looks for any eight of its bytes.
  @Test func noPlantedSecretIsShown() {
    for seed in TestSeeds.list(standard: 2_000) {
      var generator = SeededGenerator(seed: seed)
      let secret = Self.secret(&generator)
      let text = Self.words(&generator) + Self.planted(secret, &generator) + Self.words(&generator)
      let shown = Redaction.shown(text, charactersMax: 4_000)
      for start in secret.indices.dropLast(7) {
        let part = secret[start..<secret.index(start, offsetBy: 8)]
        #expect(!shown.contains(part), "seed \(seed): \(text) reads \(shown)")
      }
    }
  }

  private static func secret(_ generator: inout SeededGenerator) -> String {
    let base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    let (alphabet, length) =
      [(base64 + "+/", 24...88), (base64 + "-_", 24...88), ("0123456789abcdef", 32...64)]
      .randomElement(using: &generator) ?? (base64, 24...24)
    let count = Int.random(in: length, using: &generator)
    return String((0..<count).compactMap { _ in alphabet.randomElement(using: &generator) })
  }

  private static func planted(_ secret: String, _ generator: inout SeededGenerator) -> String {
    [
      " \(secret) ", " password=\(secret) ", "\"api_key\": \"\(secret)\"", " Bearer \(secret)\n",
      " https://user:\(secret)@host/path ", " --token \(secret) ", " sk-\(secret) ",
      "('\(secret)')",
      " X-Api-Key: \(secret), ", " eyJ\(secret).\(secret) ",
    ].randomElement(using: &generator) ?? secret
  }

  private static func words(_ generator: inout SeededGenerator) -> String {
    let words = [
      "run", "the", "tests", "in", "Sources/Queue", "naïve", "🎉", "a=b", "--force", "\n",
    ]
    let count = Int.random(in: 0...12, using: &generator)
    return (0..<count).compactMap { _ in words.randomElement(using: &generator) }
      .joined(separator: " ")
  }

  @Test func textsAreCutBetweenCharacters() {
    let family = "👨‍👩‍👧‍👦"
    let long = String(repeating: family, count: 300)
    let shown = Redaction.shown(long)
    #expect(shown.count == 200)
    #expect(shown == String(repeating: family, count: 199) + "…")
    #expect(Redaction.shown(String(repeating: "e", count: 200)).count == 200)
    #expect(Redaction.shown("abc", charactersMax: 0) == "…")
  }

  @Test func aHugeTextIsNotReadToItsEnd() {
    let shown = Redaction.shown(String(repeating: "a b ", count: 1_000_000))
    #expect(shown.count == 200)
  }

  @Test func noTextTraps() {
    var generator = TestSeeds.generator(standard: 7)
    let pieces = [
      "password", "=", ":", "\"", "\\", "'", "://", "@", "Bearer", " ", "-----BEGIN ", "-----END ",
      "ü", "\u{301}", "--", "\n", "0", "a", "eyJ", "\u{0}",
    ]
    for _ in 0..<5_000 {
      let count = Int.random(in: 0...12, using: &generator)
      let text = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
      let redacted = Redaction.redacted(text)
      #expect(!redacted.contains("\u{FFFD}"), "\(text)")
    }
  }
}
