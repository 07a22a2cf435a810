import SyncTestSupport
import Testing

@testable import QueueModel
@testable import SequenceCRDT

/// A command changes texts and queues in place: with a second reference, each change of a command
/// would copy them.
struct TextCopyTests {
  private static let id = MessageID.numbered(1)

  /// A queue of three, and a text with structure.
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    for number in UInt64(1)...3 {
      try device.perform(.send("one two three four", as: number, in: "s"))
    }
    try device.perform(.insertText(TextCopyTests.id, at: 3, text: ","))
    // The command that ends a stretch of typing copies once, as the edition of the stretch does.
    try device.endTyping()
    return device
  }

  private func textStorage(_ device: TestDevice) throws -> SequenceStorage {
    let message = try #require(device.workspace.messageStates[TextCopyTests.id])
    guard case .open(let content)? = message.additions.first?.text else {
      throw Missing()
    }
    return try #require(content.sequence.box)
  }

  private func slotStorage(_ device: TestDevice) throws -> SequenceStorage {
    try #require(device.workspace.sessionStates[.named("s")]?.slots.sequence.box)
  }

  private struct Missing: Error {}

  @Test(arguments: [
    Command.insertText(id, at: 19, text: "!"), .insertText(id, at: 0, text: "> "),
    .deleteText(id, 2..<9), .edit(id, content: "1, two 3 four five", base: nil),
  ])
  func aCommandDoesNotCopyTheText(command: Command) throws {
    var device = try device()
    // A weak reference: it ends with the storage that a copy replaced.
    weak let storage = try textStorage(device)
    for step in [command, .undo, .redo] {
      try device.perform(step)
      let now = try textStorage(device)
      #expect(storage === now, "\(step) copied the text")
      try device.endTyping()
    }
  }

  @Test(arguments: [
    Command.send("five", as: 9, in: "s"), .move([id], to: .position(3)),
    .move([.numbered(3), .numbered(2)], to: .before(id)), .cancel([id]),
    .importDocument(
      WorkspaceDocument(sessions: [
        WorkspaceDocument.Session(
          id: .named("s"), name: nil, project: nil, pauses: [], locked: false,
          messages: [
            .init(id: .numbered(9), content: "five", priority: "normal", createdAt: 1, device: nil)
          ], cancelled: [])
      ])),
  ])
  func aCommandDoesNotCopyTheQueue(command: Command) throws {
    var device = try device()
    weak let storage = try slotStorage(device)
    for step in [command, .undo, .redo] {
      try device.perform(step)
      let now = try slotStorage(device)
      #expect(storage === now, "\(step) copied the queue")
    }
  }
}
