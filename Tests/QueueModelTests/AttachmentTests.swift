import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Files of messages: the replicated data, and what changes do to it.
@Suite struct AttachmentTests {
  /// The testing library has another type of this name.
  private typealias Attachment = QueueModel.Attachment

  private static func file(
    _ digit: Int, name: String? = nil, type: String = "image/png", size: Int = 7
  ) throws -> Attachment {
    let hash = try #require(ContentHash(String(repeating: String(digit), count: 64)))
    return try Attachment(hash: hash, name: name ?? "file \(digit)", mediaType: type, size: size)
  }

  private func names(_ device: TestDevice, _ number: UInt64 = 1) throws -> [String] {
    try device.workspace.message(.numbered(number)).attachments.map(\.name)
  }

  // C-12: a message shows its files, through snapshots too.
  @Test func filesComeWithTheirMessage() throws {
    var device = TestDevice(1)
    var send = Command.Send(session: .named("s"), id: .numbered(1), text: "look")
    send.attachments = [try Self.file(2, name: "b c.png"), try Self.file(1, name: "a.png")]
    try device.perform(.send(send))
    #expect(try names(device) == ["a.png", "b c.png"])
    try device.perform(.attach(.numbered(1), [try Self.file(3), try Self.file(1)]))
    #expect(try names(device) == ["a.png", "b c.png", "file 3"])
    var other = TestDevice(2)
    try other.merge(device.made)
    #expect(try names(other) == ["a.png", "b c.png", "file 3"])
    try device.restoreFromSnapshot()
    #expect(try names(device) == ["a.png", "b c.png", "file 3"])
    try device.restoreFromImage()
    #expect(try device.workspace.message(.numbered(1)).attachments[1] == send.attachments[0])
    #expect(device.workspace.dump().sessions[0].messages[0].attachments?.count == 3)
    let uses = device.workspace.attachments()
    #expect(uses.count == 3)
    #expect(uses.values.allSatisfy { $0.isWaiting })
    try device.perform(.cancel([.numbered(1)]))
    #expect(try names(device).count == 3)
    #expect(device.workspace.attachments().values.allSatisfy { !$0.isWaiting })
  }

  @Test func filesAreTakenAwayAndComeBackWithUndo() throws {
    var device = TestDevice(1)
    try device.perform(.send("look", as: 1, in: "s"))
    #expect(
      try device.perform(.attach(.numbered(1), [try Self.file(1), try Self.file(2)])).notice
        == .affected(count: 2))
    #expect(try device.perform(.attach(.numbered(1), [try Self.file(1)])).notice == .unchanged)
    try device.perform(.detach(.numbered(1), [try Self.file(1).hash]))
    #expect(try names(device) == ["file 2"])
    try device.perform(.undo)
    #expect(try names(device) == ["file 1", "file 2"])
    try device.perform(.undo)
    #expect(try names(device) == [])
    try device.perform(.redo)
    #expect(try names(device) == ["file 1", "file 2"])
    try device.perform(.redo)
    #expect(try names(device) == ["file 2"])
  }

  @Test func undoLeavesAloneWhatOthersDid() throws {
    var one = TestDevice(1)
    try one.perform(.send("look", as: 1, in: "s"))
    try one.perform(.attach(.numbered(1), [try Self.file(1), try Self.file(2)]))
    try one.perform(.detach(.numbered(1), [try Self.file(1).hash]))
    var two = TestDevice(2, now: one.now + 10)
    try two.merge(one.made)
    try two.perform(.attach(.numbered(1), [try Self.file(3)]))
    try two.perform(.detach(.numbered(1), [try Self.file(2).hash]))
    try one.merge(two.made)
    try one.perform(.undo)
    #expect(try names(one) == ["file 1", "file 3"])
    try one.perform(.undo)
    #expect(try names(one) == ["file 3"])
  }

  @Test func aFileThatTheRemoverDidNotSeeStays() throws {
    try ConflictScenario.verify(
      setup: { device in
        try device.perform(.send("look", as: 1, in: "s"))
        try device.perform(.attach(.numbered(1), [try Self.file(1)]))
      },
      authors: [
        { try $0.perform(.detach(.numbered(1), [try Self.file(1).hash])) },
        { device in
          try device.perform(.detach(.numbered(1), [try Self.file(1).hash]))
          try device.perform(.attach(.numbered(1), [try Self.file(1, name: "again")]))
        },
      ]
    ) { device in
      let names = try device.workspace.message(.numbered(1)).attachments.map(\.name)
      #expect(names == ["again"])
    }
  }

  @Test func oneFileUnderTwoNamesIsOneFile() throws {
    try ConflictScenario.verify(
      setup: { try $0.perform(.send("look", as: 1, in: "s")) },
      authors: [
        { try $0.perform(.attach(.numbered(1), [try Self.file(1, name: "z.png")])) },
        { try $0.perform(.attach(.numbered(1), [try Self.file(1, name: "a.png")])) },
      ]
    ) { device in
      let names = try device.workspace.message(.numbered(1)).attachments.map(\.name)
      #expect(names == ["a.png"])
    }
  }

  @Test func limitsAreKeptForOwnCommandsAlone() throws {
    var device = TestDevice(1)
    try device.perform(.send("look", as: 1, in: "s"))
    let files = try (0...Limits.messageAttachmentsMax).map { number in
      let digits = String(number + 256, radix: 16)
      let hash = try #require(
        ContentHash(String(repeating: "0", count: 64 - digits.count) + digits))
      return try Attachment(hash: hash, name: "f\(number)", mediaType: "a/b", size: 1)
    }
    try device.perform(.attach(.numbered(1), Array(files.dropLast())))
    let full = QueueError.limitReached(
      what: "attachments in one message", max: Limits.messageAttachmentsMax)
    #expect(throws: full) { try device.perform(.attach(.numbered(1), [files[20]])) }
    var send = Command.Send(session: .named("s"), id: .numbered(2), text: "more")
    send.attachments = files
    #expect(throws: full) { try device.perform(.send(send)) }
    #expect(throws: QueueError.self) {
      try device.perform(.detach(.numbered(1), [try Self.file(9).hash]))
    }
    try device.perform(.cancel([.numbered(1)]))
    #expect(throws: QueueError.messageCancelled(id: MessageID.numbered(1).description)) {
      try device.perform(.attach(.numbered(1), [try Self.file(9)]))
    }
    // A withdrawn message may still lose its files.
    try device.perform(.detach(.numbered(1), files.dropLast().map(\.hash)))
    #expect(try names(device) == [])
  }

  @Test func invalidAttachmentsAreRefused() throws {
    let hash = try Self.file(1).hash
    func make(_ name: String, _ type: String, _ size: Int) -> Attachment? {
      try? Attachment(hash: hash, name: name, mediaType: type, size: size)
    }
    #expect(make("a", "image/png", Limits.attachmentBytesMax) != nil)
    #expect(make("a", "image/png", Limits.attachmentBytesMax + 1) == nil)
    #expect(make("a", "image/png", 0) == nil)
    let long = String(repeating: "n", count: Limits.attachmentNameBytesMax)
    #expect(make(long, "image/png", 1) != nil)
    for name in [long + "n", "", "a/b", "..", "a\u{0}", "a\nb"] {
      #expect(make(name, "image/png", 1) == nil, "\(name)")
    }
    for type in ["png", "image/", "/png", "a/b/c", "image/p ng", "imäge/png", ""] {
      #expect(make("a", type, 1) == nil, "\(type)")
    }
    for digits in ["", "1", String(repeating: "G", count: 64), String(repeating: "A", count: 64)] {
      #expect(ContentHash(digits) == nil)
    }
    #expect(
      ContentHash(bytes: [UInt8](repeating: 10, count: 32))?.description.hasPrefix("0a0a") == true)
  }

  /// Tags of other programs may hold anything; an unreadable one is kept, but not shown.
  @Test func oddNotesAreKeptAndNotShown() throws {
    var device = TestDevice(1)
    try device.perform(.send("look", as: 1, in: "s"))
    let message = try #require(
      device.made.first { if case .addMessage = $0.body { true } else { false } })
    let zeros = String(repeating: "0", count: 64)
    let notes = [
      "", "x", "\(zeros) 1 a/b", "\(zeros) 01 a/b n", "\(zeros) -1 a/b n", zeros + " 1 ab n",
    ]
    for note in notes {
      let seq = device.workspace.vector[device.replica] + 1
      try device.merge([
        Operation(
          id: OperationID(replica: device.replica, seq: seq),
          body: .addTag(element: message.id, field: .attachment, clears: [], note: note))
      ])
    }
    #expect(try names(device) == [])
    try device.restoreFromSnapshot()
    let tags = device.workspace.image().sessions[0].messages[0].tags
    #expect(tags.first { $0.field == .attachment }?.tags.map(\.note) == notes)
  }

  @Test func historyAndDocumentsSpeakOfFiles() throws {
    var device = TestDevice(1)
    try device.perform(.send("look", as: 1, in: "s"))
    try device.perform(.attach(.numbered(1), [try Self.file(1)]))
    try device.perform(.detach(.numbered(1), [try Self.file(1).hash]))
    let actions = device.workspace.history(of: device.made).map(\.action)
    #expect(actions.suffix(2) == [.attached(name: "file 1"), .detached])
    try device.perform(.attach(.numbered(1), [try Self.file(2)]))
    var other = TestDevice(2)
    let notice = try other.perform(.importDocument(device.workspace.document())).notice
    guard case .imported = notice else {
      Issue.record("\(notice)")
      return
    }
    #expect(try names(other) == ["file 2"])
    #expect(
      other.workspace.document().sessions[0].messages[0].attachments
        == device.workspace.document().sessions[0].messages[0].attachments)
  }
}
