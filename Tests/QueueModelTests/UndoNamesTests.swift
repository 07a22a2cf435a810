import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The names in undo's texts, and the limits of a redo.
struct UndoNamesTests {
  /// A redone send needs room in its queue, like the first time.
  @Test func aRedoneSendKeepsToTheSizeOfItsQueue() throws {
    var device = TestDevice(1, queueSizeMax: 2)
    try device.perform(.send("one", as: 1, in: "s"))
    try device.perform(.send("two", as: 2, in: "s"))
    try device.perform(.undo)
    // An agent's prompt does not clear what can be redone.
    _ = try device.author { workspace, context throws(QueueError) in
      try workspace.perform(.send("three", as: 3, in: "s"), in: context)
    }
    #expect(throws: QueueError.queueFull(current: 2, max: 2)) { try device.perform(.redo) }
    #expect(device.workspace.contents("s") == ["one", "three"])
    device.queueSizeMax = 3
    try device.perform(.redo)
    #expect(Set(device.workspace.contents("s")) == ["one", "two", "three"])
  }

  @Test func aChoiceIsCalledOne() throws {
    var pair = try EditionTests.Pair("Bump", "Bump to 1.3", "Bump to 2.0")
    func latest(_ device: TestDevice) -> UndoLabel? {
      device.workspace.next(of: device.history, isUndone: false)?.label
    }
    #expect(latest(pair.one)?.kind == .edited)
    try pair.one.perform(.edit(EditionTests.id, content: "Bump to 2.0", base: nil))
    #expect(latest(pair.one)?.kind == .chosen)
    #expect(latest(pair.one)?.description == "choosing the text of \"Bump to 2.0\" in s")
    try pair.one.perform(.undo)
    #expect(try pair.one.workspace.message(EditionTests.id).isMerged)
    #expect(try pair.one.perform(.redo).notice.undoResult?.label.kind == .chosen)
    // An edit of a chosen text counts as an edit again.
    try pair.one.perform(.edit(EditionTests.id, content: "Bump to 2.1", base: nil))
    #expect(latest(pair.one)?.kind == .edited)
  }

  /// Changes without an inverse name the command that reverses them.
  @Test(arguments: [
    (UndoLabel.Kind.unpaired, "wss://a.example" as String?, "cospool pair wss://a.example CODE"),
    (.addedPush, "1234", "cospool push remove 1234"),
    (.removedPush, nil, "cospool push add --help"),
    (.paired, nil, "cospool unpair"),
    (.paired, "wss://a.example", "cospool pair wss://a.example CODE"),
    (.movedServer, "wss://a.example", "cospool server move wss://a.example"),
  ])
  func changesNameTheirReversingCommands(
    _ kind: UndoLabel.Kind, _ former: String?, _ command: String
  ) throws {
    let device = TestDevice(1)
    var history = UndoHistory()
    _ = history.noteAct(
      UndoLabel(kind: kind, text: "ntfy.example"), former: former, milliseconds: 1,
      in: device.workspace)
    let entry = try #require(history.entries.first)
    #expect(try UndoEntry(bytes: entry.change.bytes) == entry.change)
    let next = device.workspace.next(of: history, isUndone: false)
    #expect(next?.obstacle == .needsCommand(command))
  }
}
