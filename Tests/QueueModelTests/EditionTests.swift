import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

import class Foundation.JSONDecoder
import class Foundation.JSONEncoder

/// Texts that were saved independently are merged, and wait until a user has checked them.
struct EditionTests {
  static let id = MessageID.numbered(1)

  /// Two devices that saved texts of one message apart and then synchronized; the session has a
  /// host.
  struct Pair {
    var one: TestDevice
    var other: TestDevice
    /// The previous state.
    let start: [Operation]
    var devices: [TestDevice] { [one, other] }

    init(_ base: String, _ first: String, _ second: String, behind: String? = nil) throws {
      one = TestDevice(1)
      try one.perform(.send(base, as: 1, in: "s", requeues: false))
      if let behind { try one.perform(.send(behind, as: 2, in: "s", requeues: false)) }
      try one.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
      start = one.made
      other = TestDevice(2, now: one.now)
      try other.merge(start)
      #expect(one.startable == id && other.startable == id)
      try one.perform(.edit(id, content: first, base: nil))
      try other.perform(.edit(id, content: second, base: nil))
      #expect(one.startable == id && other.startable == id)
      try meet()
    }

    mutating func meet() throws {
      (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
      let made = (one.made, other.made)
      try one.merge(made.1)
      try other.merge(made.0)
      #expect(try one.message == other.message)
    }
  }

  /// A device that edits it without having looked may not know what another one saved.
  @Test func whoSavedATextLastIsKnown() throws {
    var one = TestDevice(1)
    try one.perform(.send("Bump", as: 1, in: "s", requeues: false))
    var other = TestDevice(2, now: one.now)
    try other.merge(one.made)
    func saved(_ device: TestDevice, _ number: UInt64) -> MessageVersion? {
      device.workspace.textSavedElsewhere(of: Self.id, than: DeviceID(high: 0xD, low: number))
    }
    #expect(saved(one, 1) == nil && saved(other, 2) == nil, "it was never edited")
    try one.perform(.edit(Self.id, content: "Bump to 2", base: nil))
    try other.merge(one.made)
    #expect(saved(one, 1) == nil)
    #expect(saved(other, 2)?.text == "Bump to 2" && saved(other, 2)?.device == "device 1")
    try other.perform(.edit(Self.id, content: "Bump to 3", base: nil))
    #expect(saved(other, 2) == nil)
  }

  @Test(arguments: WordMergeTests.pairs)
  func aMergedTextWaitsOnBothDevices(_ texts: WordMergeTests.Pair) throws {
    let pair = try Pair(texts.base, texts.first, texts.second, behind: "Tell me")
    for device in pair.devices {
      let message = try device.message
      #expect(message.isMerged && message.status == .queued)
      #expect(message.versions.map(\.text) == [texts.first, texts.second])
      #expect(message.versions.map(\.device) == ["device 1", "device 2"])
      #expect(message.versions.allSatisfy { $0.savedAt > TestDevice.startOfTime })
      #expect(
        device.startable == nil && device.workspace.dispatchState(of: Self.id)?.isMerged == true)
      try device.workspace.checkInvariants()
    }
  }

  @Test(arguments: WordMergeTests.pairs, [0, 1, 2])
  func aChoiceLetsItGoOn(_ texts: WordMergeTests.Pair, choice: Int) throws {
    var pair = try Pair(texts.base, texts.first, texts.second)
    let text = try [texts.first, texts.second, pair.one.message.content][choice]
    try pair.other.perform(.edit(Self.id, content: text, base: nil))
    #expect(try pair.other.message.content == text)
    try pair.meet()
    for device in pair.devices {
      #expect(try device.message.content == text && !device.message.isMerged)
      #expect(device.startable == Self.id)
    }
  }

  /// A restart, a snapshot, an image, a join, and a device that was away for all of it.
  @Test(arguments: WordMergeTests.pairs)
  func mergedMessagesStayMerged(_ texts: WordMergeTests.Pair) throws {
    let pair = try Pair(texts.base, texts.first, texts.second)
    let shown = try pair.one.message
    var restarted = pair.one
    try restarted.restoreFromSnapshot()
    #expect(restarted.startable == nil)
    #expect(try restarted.message == shown)
    var restored = pair.other
    try restored.restoreFromImage()
    #expect(try restored.message == shown && restored.startable == nil)
    var away = TestDevice(3)
    try away.merge(pair.other.made)
    try away.merge(pair.one.made)
    #expect(try away.message == shown && away.startable == nil)
  }

  /// After an import elsewhere it waits, too, also with versions of long texts.
  @Test(arguments: [1, 8_000])
  func mergedMessagesAreImportedAsMerged(times: Int) throws {
    func long(_ text: String) -> String {
      Array(repeating: text, count: times).joined(separator: " ")
    }
    let pair = try Pair("Bump", long("Bump to 1.3"), long("Bump to 2.0"))
    let data = try JSONEncoder().encode(pair.one.workspace.document())
    let document = try JSONDecoder().decode(WorkspaceDocument.self, from: data)
    for cancels in [false, true] {
      var from = pair.one
      var document = document
      if cancels {
        try from.perform(.cancel([Self.id]))
        document = from.workspace.document()
      }
      var other = TestDevice(3)
      for part in document.parts { try other.perform(.importDocument(part)) }
      if cancels { try other.perform(.restore(Self.id)) }
      #expect(other.startable == nil)
      #expect(try other.message.versions.map(\.text) == pair.one.message.versions.map(\.text))
      #expect(try other.message.versions.map(\.bytes) == pair.one.message.versions.map(\.bytes))
    }
  }

  /// A document with an invalid edition is refused, with the place of the fault.
  @Test func aWrongEditionIsNotImported() throws {
    var document = try Pair("Bump", "Bump 1", "Bump 2").one.workspace.document()
    document.sessions[0].messages[0].editions?[1].content = nil
    var device = TestDevice(3)
    #expect {
      try device.perform(.importDocument(document))
    } throws: {
      "\($0)".contains("sessions[0].messages[0].editions[1].bytes")
    }
  }

  /// If both saved the same text and the message has it, there is nothing to check.
  @Test func oneTextThatBothWantedIsNotMerged() throws {
    let pair = try Pair("Fix the the build", "Fix the build", "Fix the build")
    for device in pair.devices {
      #expect(try device.message.content == "Fix the build" && !device.message.isMerged)
      #expect(device.startable == Self.id)
    }
  }

  /// A save from an editor that was open when another save arrived does not clear what its user did
  /// not see.
  @Test func onlyWhatTheEditorShowedIsCleared() throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy", as: 1, in: "s"))
    var other = TestDevice(2)
    try other.merge(one.made)
    other.now = one.now + 10
    let base = try other.workspace.editBase(Self.id)
    try one.perform(.edit(Self.id, content: "Deploy to staging", base: nil))
    try other.merge(one.made)
    try other.perform(.edit(Self.id, content: "Deploy on Monday", base: base))
    #expect(try other.message.isMerged)
    #expect(try other.message.versions.map(\.text) == ["Deploy to staging", "Deploy on Monday"])
    // A save without a change adds no edition.
    let stale = try one.workspace.editBase(Self.id)
    try one.merge(other.made)
    #expect(
      try one.perform(.edit(Self.id, content: "Deploy to staging", base: stale)).notice
        == .unchanged)
    #expect(try one.message.isMerged)
    // A save of what was checked adds one, though the text stays.
    let merged = try one.message.content
    try one.perform(.edit(Self.id, content: merged, base: nil))
    #expect(try !one.message.isMerged && one.message.content == merged)
  }

  /// Edits one after the other are never merged, and a text that is only sent costs nothing.
  @Test func successiveSavesAreNotMerged() throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy", as: 1, in: "s"))
    #expect(!one.made.contains { $0.puts(.edition) })
    var other = TestDevice(2)
    for round in 1...4 {
      try other.merge(one.made)
      try other.perform(.edit(Self.id, content: "Deploy \(round)", base: nil))
      try one.merge(other.made)
      try one.perform(.edit(Self.id, content: "Deploy \(round) \(round)", base: nil))
      #expect(try !one.message.isMerged && !other.message.isMerged)
      #expect(try one.workspace.editBase(Self.id).editions.count == 1)
    }
  }

  /// Two users choose differently, and their devices synchronize.
  @Test func twoChoicesAreAChoiceAgain() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.meet()
    #expect(try pair.one.message.versions.map(\.text) == ["Use SQLite", "Use MySQL"])
    #expect(pair.one.startable == nil && pair.other.startable == nil)
    try pair.one.perform(.edit(Self.id, content: "Use Postgres", base: nil))
    try pair.meet()
    #expect(pair.other.startable == Self.id)
  }

  /// A third version that comes later waits beside the others; a choice of the first two does not clear it.
  @Test func aChoiceClearsWhatItSaw() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    var third = TestDevice(3)
    try third.merge(pair.start)
    try pair.one.perform(.edit(Self.id, content: "Use SQLite", base: nil))
    #expect(try third.message.content == "Use a file")
    try third.perform(.edit(Self.id, content: "Use Redis", base: nil))
    try pair.one.merge(third.made)
    #expect(try pair.one.message.versions.map(\.text) == ["Use Redis", "Use SQLite"])
  }

  // MARK: - Undo

  /// When a choice is undone, its message waits again; a redo settles it, in a session that stays
  /// paused.
  @Test func anUndoneChoiceWaitsAgain() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    let merged = try pair.one.message.content
    try pair.one.perform(.edit(Self.id, content: "Use MySQL", base: nil))
    try pair.one.perform(.undo)
    #expect(try pair.one.message.content == merged)
    #expect(try pair.one.message.versions.map(\.text) == ["Use SQLite", "Use MySQL"])
    #expect(pair.one.startable == nil)
    try pair.meet()
    #expect(pair.other.startable == nil)
    try pair.one.perform(.redo)
    #expect(try pair.one.message.content == "Use MySQL" && !pair.one.message.isMerged)
    #expect(try pair.one.workspace.messageQueue(.named("s")).paused)
  }

  /// A check that left a merged text unchanged can be undone, too.
  @Test func anUndoneLookWaitsAgain() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    try pair.one.perform(.edit(Self.id, content: pair.one.message.content, base: nil))
    #expect(pair.one.startable == Self.id)
    try pair.one.perform(.undo)
    #expect(pair.one.startable == nil)
  }

  /// Undoing one's own edit leaves the other's, and there is nothing to check.
  @Test func anUndoneEditLeavesTheOther() throws {
    var pair = try Pair("Use a file", "Use a file and a cache", "Now use a file")
    try pair.one.perform(.undo)
    try pair.meet()
    #expect(try pair.other.message.content == "Now use a file" && !pair.other.message.isMerged)
  }

  /// A concurrent undo and edit of two devices are merged like two edits.
  @Test func anUndoIsAnEditionToo() throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy to staging", as: 1, in: "s"))
    try one.perform(.edit(Self.id, content: "Deploy to production", base: nil))
    var other = TestDevice(2)
    try other.merge(one.made)
    try one.perform(.undo)
    #expect(try !one.message.isMerged && one.message.content == "Deploy to staging")
    try other.perform(.edit(Self.id, content: "Deploy to production now", base: nil))
    try one.merge(other.made)
    #expect(try one.message.isMerged)
  }

  // MARK: - The end of a message

  @Test func forgottenMessagesKeepNoVersion() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    try pair.one.perform(.cancel([Self.id]))
    let outcome = try pair.one.author { workspace, context throws(QueueError) in
      try workspace.forget([Self.id], in: context)
    }
    #expect(outcome.notice == .done)
    #expect(try pair.one.workspace.editBase(Self.id).editions.isEmpty)
    #expect(throws: QueueError.messageForgotten(id: Self.id.description)) {
      try pair.one.perform(.restore(Self.id))
    }
  }

  @Test func aCancelledOneThatComesBackWaitsStill() throws {
    var pair = try Pair("Use a file", "Use SQLite", "Use MySQL")
    try pair.one.perform(.cancel([Self.id]))
    try pair.one.perform(.restore(Self.id))
    #expect(pair.one.startable == nil)
    try pair.meet()
    #expect(pair.other.startable == nil)
  }

  // MARK: - Long texts

  /// A longer text is kept as its length and digest: it is recognized, but cannot be chosen.
  @Test func aLongVersionIsNamedAlone() throws {
    let words = String(repeating: "word ", count: Limits.editionBytesMax / 5)
    let pair = try Pair(words + "base", words + "one more", words + "one other")
    let message = try pair.one.message
    #expect(message.isMerged && message.versions.map(\.text) == [nil, nil])
    #expect(
      message.versions.map(\.bytes) == [words + "one more", words + "one other"].map(\.utf8.count))
    // At the limit it is kept whole.
    let exact = String(repeating: "x", count: Limits.editionBytesMax - 2) + " y"
    let kept = try Pair("base", exact, "other")
    #expect(try kept.one.message.versions.map(\.text) == [exact, "other"])
  }

  /// Every part of a change that takes several deltas follows a mark: no device sees the text
  /// without its edition.
  @Test func aLongEditComesWithItsEdition() throws {
    var one = TestDevice(1)
    try one.perform(.send("Deploy", as: 1, in: "s"))
    let before = one.made.count
    try one.perform(
      .edit(Self.id, content: String(repeating: "Deploy now. ", count: 500), base: nil))
    let made = one.made[before...].filter { !$0.puts(.edition) && !$0.isTimeNote }
    #expect(made.first?.puts(.incomplete) == true)
    if case .clearTags(_, .incomplete, _) = made.last?.body {} else { Issue.record("\(made)") }
  }

  /// A text that begins with a combining character, and texts that differ only in bytes.
  @Test func textsAreComparedByTheirBytes() throws {
    let pair = try Pair("a", "\u{301}x y", "e\u{301} z")
    #expect(try Set(pair.one.message.versions.map(\.text)) == ["\u{301}x y", "e\u{301} z"])
    #expect(
      try pair.one.message.versions.compactMap(\.text).contains {
        $0.unicodeScalars.first == "\u{301}"
      })
    let composed = try Pair("a", "\u{e9}", "e\u{301}")
    #expect(try composed.one.message.versions.count == 2)
  }
}

extension TestDevice {
  fileprivate var message: MessageView {
    get throws { try workspace.message(EditionTests.id) }
  }
  fileprivate var startable: MessageID? { workspace.startable(in: .named("s"))?.message }
}

extension Operation {
  fileprivate func puts(_ field: TagField) -> Bool {
    if case .addTag(_, field, _, _) = body { true } else { false }
  }
  fileprivate var isTimeNote: Bool {
    if case .setRegister = body { true } else { false }
  }
}
