import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Editing: few text operations, by words, against the state that the editor saw. S0-12, S1-21.
struct EditTests {
  private func device(_ text: String) throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send(text, as: 1, in: "s", requeues: false))
    return device
  }

  private func content(_ device: TestDevice) throws -> String {
    try device.workspace.message(.numbered(1)).content
  }

  /// How many scalars the operations insert and delete.
  private func sizes(_ operations: [Operation]) -> (inserted: Int, deleted: Int) {
    operations.reduce((inserted: 0, deleted: 0)) { sum, operation in
      switch operation.body {
      case .insertText: (sum.inserted + operation.length, sum.deleted)
      case .deleteText: (sum.inserted, sum.deleted + operation.length)
      default: sum
      }
    }
  }

  @Test(arguments: [
    ("fix the test", "fix the failing test", 8, 0),
    ("fix the failing test", "fix the test", 0, 8),
    ("abc", "abd", 3, 3),
    ("abc", "abc def", 4, 0),
    ("abc", "def abc", 4, 0),
    ("aaaa", "aa", 2, 4),
    ("one kitten sat", "one sitting sat", 8, 7),
    ("one kitten", "one sitting", 8, 7),
    ("one two three", "one three two", 4, 4),
    ("a 👩‍👩‍👧‍👦 b", "a 👩‍👩‍👦 b", 6, 8),
    ("line one\nline two", "line one\nline 2", 2, 4),
    ("one\ntwo\nthree", "one\n2\nthree", 2, 4),
    ("one\n\ntwo", "one\n\nand\n\ntwo", 5, 0),
    ("看看日志，修复测试。谢谢", "看看日志，重写测试。谢谢", 5, 5),
  ])
  func anEditReplacesAsFewWordsAsItCan(
    old: String, new: String, inserted: Int, deleted: Int
  ) throws {
    var device = try device(old)
    let outcome = try device.perform(.edit(.numbered(1), content: new, base: nil))
    #expect(try content(device) == new)
    #expect(sizes(outcome.operations) == (inserted, deleted))
    #expect(outcome.operations.count <= inserted + deleted)
  }

  @Test func anEditToTheSameTextMakesNoOperation() throws {
    var device = try device("text")
    for same in ["text", " text\n"] {
      let outcome = try device.perform(.edit(.numbered(1), content: same, base: nil))
      #expect(outcome.operations == [])
      #expect(outcome.notice == .unchanged)
    }
  }

  @Test func canonicalEquivalentsAreDifferentTexts() throws {
    var device = try device("\u{E9}t\u{E9}")
    try device.perform(.edit(.numbered(1), content: "e\u{301}te\u{301}", base: nil))
    let scalars = try content(device).unicodeScalars.map(\.value)
    #expect(scalars == [0x65, 0x301, 0x74, 0x65, 0x301])
  }

  @Test func blankAndCancelledAndUnknownAreRefused() throws {
    var device = try device("text")
    #expect(throws: QueueError.blankText) {
      try device.perform(.edit(.numbered(1), content: " \n", base: nil))
    }
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.perform(.edit(.numbered(9), content: "new", base: nil))
    }
    try device.perform(.cancel([.numbered(1)]))
    #expect(throws: QueueError.messageCancelled(id: MessageID.numbered(1).description)) {
      try device.perform(.edit(.numbered(1), content: "new", base: nil))
    }
    #expect(try content(device) == "text")
  }

  @Test func savingAgainstAnOldBaseKeepsWhatCameMeanwhile() throws {
    var device = try device("run the tests")
    let base = try device.workspace.editBase(.numbered(1))
    try device.perform(.edit(.numbered(1), content: "please run the tests", base: nil))
    try device.perform(.edit(.numbered(1), content: "run all the tests", base: base))
    #expect(try content(device) == "please run all the tests")
    // A base whose scalars have been partly deleted since.
    try device.perform(.edit(.numbered(1), content: "run them", base: base))
    #expect(try content(device) == "please run them all")
  }

  @Test func savingTheOldTextUnchangedDoesNotUndoOthers() throws {
    var device = try device("text")
    let base = try device.workspace.editBase(.numbered(1))
    try device.perform(.edit(.numbered(1), content: "longer text", base: nil))
    let outcome = try device.perform(.edit(.numbered(1), content: "text", base: base))
    #expect(outcome.notice == .unchanged)
    #expect(try content(device) == "longer text")
  }

  @Test func theBaseOfAnotherMessageIsRefused() throws {
    var device = try device("text")
    try device.perform(.send("other", as: 2, in: "s"))
    let base = try device.workspace.editBase(.numbered(2))
    #expect(throws: QueueError.self) {
      try device.perform(.edit(.numbered(1), content: "new", base: base))
    }
  }

  @Test func aBaseThatDoesNotFitItsTextIsRefused() throws {
    var device = try device("text")
    let good = try device.workspace.editBase(.numbered(1))
    let before = device.workspace.image()
    var longer = good
    longer.text += "x"
    var unknown = good
    unknown.ranges = [OperationRange(replica: ReplicaID(rawValue: 77), first: 1, last: 4)]
    var wide = good
    wide.ranges = [OperationRange(replica: device.replica, first: 1, last: 4)]
    for base in [longer, unknown, wide] {
      #expect(throws: QueueError.self) {
        try device.perform(.edit(.numbered(1), content: "new", base: base))
      }
    }
    #expect(device.workspace.image() == before)
  }

  @Test func replacingAllOfALongTextStaysFast() throws {
    let lines = (0..<3_000).map { "line number \($0)" }
    var device = try device(lines.joined(separator: "\n"))
    var changed = lines
    changed[1_500] = "another line"
    changed.remove(at: 700)
    let new = changed.joined(separator: "\n")
    let outcome = try device.perform(.edit(.numbered(1), content: new, base: nil))
    #expect(try content(device) == new)
    // Two lines change, not the whole text.
    let size = sizes(outcome.operations)
    #expect(size.inserted + size.deleted < new.unicodeScalars.count)
    let other = String(repeating: "z", count: 20_000)
    try device.perform(.edit(.numbered(1), content: other, base: nil))
    #expect(try content(device) == other)
  }

  @Test(arguments: TestSeeds.list(standard: 30, from: 300))
  func randomEditsGiveTheTextAsked(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var device = try device("start")
    for _ in 0..<40 {
      let alphabet = Array("ab \n🇩🇪e\u{301}é".unicodeScalars)
      var scalars = Array(try content(device).unicodeScalars)
      for _ in 0..<(1 + generator.below(3)) {
        let first = generator.below(scalars.count + 1)
        let last = min(scalars.count, first + generator.below(5))
        let typed = (0..<generator.below(5)).map { _ in alphabet[generator.below(alphabet.count)] }
        scalars.replaceSubrange(first..<last, with: typed)
      }
      let text = String(String.UnicodeScalarView(scalars)).trimmedOfWhitespace()
      guard !text.isEmpty else { continue }
      try device.perform(.edit(.numbered(1), content: text, base: nil))
      let shown = try content(device)
      #expect(shown.unicodeScalars.elementsEqual(text.unicodeScalars), "seed \(seed)")
    }
    try device.workspace.checkInvariants()
  }

  /// Two devices insert words at different places of one text; each device's words stay whole.
  @Test(arguments: TestSeeds.list(standard: 20, from: 400))
  func concurrentInsertionsBothAppearWhole(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var first = try device("one two three four five")
    var second = TestDevice(2)
    try second.merge(first.made)
    let marks = ["FIRST", "SECOND"]
    let words = ["one", "two", "three", "four", "five"]
    for mark in marks {
      var text = words
      text.insert(mark, at: generator.below(words.count + 1))
      let edit = Command.edit(.numbered(1), content: text.joined(separator: " "), base: nil)
      if mark == marks[0] { try first.perform(edit) } else { try second.perform(edit) }
    }
    try first.merge(second.made)
    try second.merge(first.made)
    let merged = try content(first)
    #expect(try content(second) == merged)
    let shown = merged.split(separator: " ").map(String.init)
    for mark in marks { #expect(shown.contains(mark), "seed \(seed): \(merged)") }
    #expect(shown.filter { !marks.contains($0) } == words, "seed \(seed): \(merged)")
  }

  @Test
  func aMessageWhoseHistoryIsFullRefusesEditsInsteadOfTrapping() throws {
    var device = try device("text")
    let message = try #require(device.made.first { $0.introducesContent })
    let run = String(repeating: "x", count: Limits.contentBytesMax)
    let peer = ReplicaID(rawValue: 2)
    for index in 0..<(TextContent.unitsMax / Limits.contentBytesMax - 1) {
      let id = OperationID(replica: peer, seq: UInt32(index * Limits.contentBytesMax + 1))
      let origins = Operation.Origins(left: nil, right: nil)
      try device.merge([
        Operation(
          id: id, body: .insertText(.init(message: message.id, origins: origins, text: run)))
      ])
    }
    let full = String(repeating: "y", count: Limits.contentBytesMax)
    #expect(
      throws: QueueError.limitReached(
        what: "characters ever typed in one message", max: TextContent.unitsMax)
    ) { try device.perform(.edit(.numbered(1), content: full, base: nil)) }
  }
}

extension Operation {
  fileprivate var introducesContent: Bool {
    if case .addMessage = body { true } else { false }
  }
}
