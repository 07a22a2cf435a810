import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// If two devices saved one new text apart, the message has that text, though its letters are there
/// twice.
struct SameTextTests {
  private static let id = EditionTests.id

  static let rewrites = [
    ["fix the", "fix the build"],
    ["Run the tests", "Delete the cache"],
    ["Use a file", "Use SQLite"],
  ]

  @Test(arguments: rewrites)
  func oneTextOfTwoDevicesIsThatText(_ texts: [String]) throws {
    let pair = try EditionTests.Pair(texts[0], texts[1], texts[1], behind: "Tell me")
    var restarted = pair.one
    try restarted.restoreFromSnapshot()
    var away = TestDevice(3)
    try away.merge(pair.other.made)
    try away.merge(pair.one.made)
    let oracle = SlowWorkspace(pair.one.made + pair.other.made).state()
    for device in [pair.one, pair.other, restarted] {
      let message = try device.workspace.message(Self.id)
      #expect(message.content == texts[1] && !message.isMerged)
      let start = try #require(device.workspace.startable(in: .named("s")))
      #expect(start.message == Self.id && start.state.text == texts[1])
      #expect(oracle.differences(from: device.workspace) == [])
      try device.workspace.checkInvariants()
    }
    #expect(try away.workspace.message(Self.id).content == texts[1])
  }

  /// The letters stay, and become the text with the next change.
  @Test(arguments: rewrites)
  func itIsEditedAsItShows(_ texts: [String]) throws {
    var pair = try EditionTests.Pair(texts[0], texts[1], texts[1])
    try pair.one.perform(.edit(Self.id, content: texts[1] + " again", base: nil))
    try pair.meet()
    #expect(try pair.other.workspace.message(Self.id).content == texts[1] + " again")
    try pair.one.perform(.undo)
    try pair.meet()
    #expect(try pair.other.workspace.message(Self.id).content == texts[1])
    #expect(try !pair.one.workspace.message(Self.id).isMerged)
  }

  /// Typing in it counts the visible characters.
  @Test(arguments: rewrites)
  func itIsTypedInAsItShows(_ texts: [String]) throws {
    for deletes in [false, true] {
      var pair = try EditionTests.Pair(texts[0], texts[1], texts[1])
      let count = texts[1].unicodeScalars.count
      let wanted: String
      if deletes {
        try pair.one.perform(.deleteText(Self.id, count - 1..<count))
        wanted = String(texts[1].dropLast())
      } else {
        #expect(throws: QueueError.self) {
          try pair.one.perform(.insertText(Self.id, at: count + 1, text: "!"))
        }
        #expect(try pair.one.workspace.message(Self.id).content == texts[1])
        try pair.one.perform(.insertText(Self.id, at: count, text: "!"))
        wanted = texts[1] + "!"
      }
      #expect(try pair.one.workspace.message(Self.id).content == wanted)
      try pair.one.endTyping()
      try pair.meet()
      for device in pair.devices {
        #expect(try device.workspace.message(Self.id).content == wanted)
        #expect(try !device.workspace.message(Self.id).isMerged)
      }
    }
  }

  /// A third text waits beside it, and the text that two devices saved is one version.
  @Test func anotherTextWaits() throws {
    var pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use SQLite")
    var third = TestDevice(3, now: pair.one.now)
    try third.merge(pair.start)
    try third.perform(.edit(Self.id, content: "Use Redis", base: nil))
    try pair.one.merge(third.made)
    let message = try pair.one.workspace.message(Self.id)
    #expect(message.versions.map(\.text) == ["Use SQLite", "Use Redis"])
    #expect(pair.one.workspace.startable(in: .named("s")) == nil)
  }
}
