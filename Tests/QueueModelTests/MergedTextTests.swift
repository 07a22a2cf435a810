import QueueModel
import SyncTestSupport
import Testing

/// The remains of texts that were saved independently, even after an undo.
struct MergedTextTests {
  /// The letters of both would make a text that no user saved.
  @Test func anUndoneEditLeavesOnlySavedTexts() throws {
    var pair = try EditionTests.Pair("the quick fox", "the slow fox", "the red fox")
    try pair.one.perform(.undo)
    try pair.meet()
    for device in [pair.one, pair.other] {
      let message = try device.message
      #expect(!message.isMerged && message.content == "the red fox", "\(message.content)")
    }
    // It waits in a session that the undo paused.
    #expect(pair.one.startable == nil)
    try pair.one.perform(.redo)
    #expect(try pair.one.message.isMerged)
  }

  /// Each undo leaves the other's text, so both wait.
  @Test func twoUndoesApartAreAChoiceAgain() throws {
    var pair = try EditionTests.Pair("the quick fox", "the slow fox", "the red fox")
    try pair.one.perform(.undo)
    try pair.other.perform(.undo)
    try pair.meet()
    #expect(try pair.one.message.isMerged)
    #expect(
      Set(try pair.one.message.versions.map(\.text)) == ["the slow fox", "the red fox"])
  }

  /// Nothing may be left of two merged texts: the message can be cancelled and restored, and a text
  /// chosen, and no agent gets it.
  @Test func aTextOfWhichNothingIsLeftIsNotLost() throws {
    var pair = try EditionTests.Pair("left right", "left", "right")
    #expect(try pair.one.message.content.isEmpty && pair.one.startable == nil)
    try pair.one.perform(.setOnMerge(.named("s"), .run))
    #expect(pair.one.startable == nil)
    try pair.one.perform(.cancel([EditionTests.id]))
    #expect(pair.one.workspace.cancelledMessages(of: .named("s")).map(\.id) == [EditionTests.id])
    try pair.one.perform(.restore(EditionTests.id))
    #expect(Set(try pair.one.message.versions.map(\.text)) == ["left", "right"])
    try pair.one.perform(.edit(EditionTests.id, content: "right", base: nil))
    #expect(pair.one.startable == EditionTests.id)
  }

  /// A version that arrives later, but was saved earlier by its device's clock, does not take the
  /// number of another.
  @Test func aNumberCountsWhatWasSeen() throws {
    var pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL")
    let base = try pair.one.workspace.editBase(EditionTests.id)
    var late = TestDevice(3, now: pair.one.now - 1_000_000)
    try late.merge(pair.start)
    try late.perform(.edit(EditionTests.id, content: "Use Redis", base: nil))
    try pair.one.merge(late.made)
    let message = try pair.one.message
    #expect(message.versions.map(\.text) == ["Use Redis", "Use SQLite", "Use MySQL"])
    #expect(try message.text(choosing: .version(1)) == "Use Redis")
    #expect(try message.text(choosing: .version(1), among: base) == "Use SQLite")
    #expect(throws: QueueError.versionNotFound(number: 3, count: 2)) {
      try message.text(choosing: .version(3), among: base)
    }
  }
}

extension TestDevice {
  fileprivate var message: MessageView {
    get throws { try workspace.message(EditionTests.id) }
  }
  fileprivate var startable: MessageID? { workspace.startable(in: .named("s"))?.message }
}
