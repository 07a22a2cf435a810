import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The effects and refusals of the commands on messages, on one device.
struct MessageCommandTests {
  private func device(messages count: UInt64, in session: String = "s") throws -> TestDevice {
    var device = TestDevice(1, queueSizeMax: 1_000)
    for number in 0..<count {
      try device.perform(.send("text \(number + 1)", as: number + 1, in: session))
    }
    return device
  }

  // S0-8, S0-70, S1-1: first in, first out.
  @Test func messagesQueueInTheOrderSent() throws {
    var device = try device(messages: 2)
    let outcome = try device.perform(.send("third", as: 3, in: "s"))
    let now = device.now
    #expect(
      outcome.notice == .queued(.numbered(3), position: 3, count: 3, warning: false))
    #expect(device.workspace.contents("s") == ["text 1", "text 2", "third"])
    // C-15: the same text sent again is another message.
    try device.perform(.send("third", as: 4, in: "s"))
    #expect(device.workspace.contents("s").suffix(2) == ["third", "third"])
    try device.perform(.cancel([.numbered(4)]))
    let view = try device.workspace.message(.numbered(3))
    #expect(view.position == 3)
    #expect(view.status == .queued)
    #expect(view.createdAt == now)
    #expect(view.device == DeviceView.named("device 1", in: device))
  }

  // S0-48, S1-12, S1-30: urgent messages go first, after earlier urgent ones.
  @Test func urgentMessagesGoBehindEarlierUrgentOnes() throws {
    var device = try device(messages: 2)
    try device.perform(.send("urgent 1", as: 3, in: "s", .urgent))
    let outcome = try device.perform(.send("urgent 2", as: 4, in: "s", .urgent))
    #expect(outcome.notice == .queued(.numbered(4), position: 2, count: 4, warning: false))
    #expect(device.workspace.numbers("s") == [3, 4, 1, 2])
  }

  // S0-6, S0-57, S0-61, S1-10.
  @Test func atTheCapALocalEnqueueIsRefused() throws {
    #expect(Limits.queueSizeDefault == 10)
    var device = TestDevice(1, queueSizeMax: Limits.queueSizeDefault)
    for number in UInt64(1)...10 {
      let outcome = try device.perform(.send("text", as: number, in: "s"))
      #expect(
        outcome.notice
          == .queued(
            .numbered(number), position: Int(number), count: Int(number), warning: number >= 8))
    }
    let error = #expect(throws: QueueError.queueFull(current: 10, max: 10)) {
      try device.perform(.send("eleventh", as: 11, in: "s"))
    }
    #expect(
      error?.description
        == "Queue full (10/10). Cancel a message or wait for one to complete.")
    // Other sessions have their own cap, and a cancelled message makes room.
    try device.perform(.send("elsewhere", as: 12, in: "t"))
    try device.perform(.cancel([.numbered(4)]))
    try device.perform(.send("eleventh", as: 11, in: "s"))
    #expect(device.workspace.numbers("s") == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11])
  }

  @Test func aRefusedSendLeavesNothingBehind() throws {
    var device = TestDevice(1, queueSizeMax: 1)
    let before = device.workspace.image()
    // S2-43: blank text is refused and changes nothing, not even the session.
    for blank in ["", " ", "\n\t ", "\u{3000}\u{2003}"] {
      #expect(throws: QueueError.blankText) {
        try device.perform(.send(blank, as: 1, in: "new"))
      }
    }
    #expect(device.workspace.image() == before)
    #expect(device.made.count == 1)
  }

  // S2-43.
  @Test func whiteSpaceAtTheEndsIsTrimmedAndInsideKept() throws {
    var device = TestDevice(1)
    try device.perform(.send(" \n a  b\t\n", as: 1, in: "s"))
    #expect(device.workspace.contents("s") == ["a  b"])
  }

  // Not arguments of the test: some of them would garble its log.
  @Test func everyScalarOfATextIsKept() throws {
    let texts = [
      "👩‍👩‍👧‍👦 and 🇩🇪🇫🇷", "e\u{301} is not é", "a\u{0}b", "\u{202E}right\u{202C} to left",
      "\u{FEFF}mark", "שלום עולם", "\u{10FFFF}\u{1}", "a\r\nb\u{2028}c",
    ]
    for (index, text) in texts.enumerated() {
      var device = TestDevice(1)
      try device.perform(.send(text, as: 1, in: "s"))
      let content = try device.workspace.message(.numbered(1)).content
      #expect(content.unicodeScalars.elementsEqual(text.unicodeScalars), "text \(index)")
      var other = TestDevice(2)
      try other.merge(device.made)
      try other.restoreFromImage()
      let copy = try other.workspace.message(.numbered(1)).content
      #expect(copy.unicodeScalars.elementsEqual(text.unicodeScalars), "text \(index)")
    }
  }

  @Test func contentMayHaveAMebibyteAndNotAByteMore() throws {
    var device = TestDevice(1)
    let longest = String(repeating: "é", count: Limits.contentBytesMax / 2)
    try device.perform(.send(longest, as: 1, in: "s"))
    #expect(try device.workspace.message(.numbered(1)).content == longest)
    let error = QueueError.contentTooLong(
      bytes: Limits.contentBytesMax + 1, max: Limits.contentBytesMax)
    #expect(throws: error) { try device.perform(.send(longest + "x", as: 2, in: "s")) }
    #expect(throws: error) {
      try device.perform(.edit(.numbered(1), content: longest + "x", base: nil))
    }
  }

  @Test func theSameIdAndContentAgainChangesNothing() throws {
    var device = try device(messages: 2)
    let outcome = try device.perform(.send("text 1", as: 1, in: "s"))
    #expect(outcome.operations == [])
    #expect(outcome.notice == .queued(.numbered(1), position: 1, count: 2, warning: false))
    // Also at the cap: the message has its place already.
    device.queueSizeMax = 2
    #expect(try device.perform(.send("text 2", as: 2, in: "s")).operations == [])
  }

  /// A retry cannot know that a user edited or moved the message meanwhile.
  @Test func sendingAgainWhatWasEditedOrMovedMeanwhileChangesNothing() throws {
    var device = try device(messages: 2)
    try device.perform(.send("elsewhere", as: 3, in: "t"))
    try device.perform(.edit(.numbered(1), content: "text one", base: nil))
    try device.perform(.move([.numbered(2)], to: .before(.numbered(3))))
    let edited = try device.perform(.send("text 1", as: 1, in: "s"))
    #expect(edited.operations == [])
    #expect(edited.notice == .queued(.numbered(1), position: 1, count: 1, warning: false))
    let moved = try device.perform(.send("text 2", as: 2, in: "s"))
    #expect(moved.operations == [])
    #expect(moved.notice == .queued(.numbered(2), position: 1, count: 2, warning: false))
    #expect(device.workspace.contents("s") == ["text one"])
  }

  /// A mark precedes a long text, which is still recognized.
  @Test func aLongTextUnderAKnownIdIsAnother() throws {
    var device = TestDevice(1)
    let text = String(repeating: "long ", count: Limits.unmarkedChangeBytesMax)
    let operations = try device.perform(.send(text, as: 1, in: "s")).operations
    #expect(
      operations.contains {
        if case .addTag(_, .incomplete, _, _) = $0.body { true } else { false }
      })
    #expect(try device.perform(.send(text, as: 1, in: "s")).operations.isEmpty)
    #expect(throws: QueueError.messageIDTaken(id: MessageID.numbered(1).description)) {
      try device.perform(.send(text + "er", as: 1, in: "s"))
    }
    try device.perform(.undo)
    #expect(device.workspace.status(1) == .cancelled)
    try device.perform(.redo)
    #expect(device.workspace.status(1) == .queued)
    // The history has one entry for it.
    let history = device.workspace.history(of: operations)
    #expect(
      history.contains {
        if case .queued(let text, _) = $0.action { text.hasPrefix("long") } else { false }
      })
    #expect(!history.contains { $0.action == .unknown })
  }

  @Test func aTakenIdWithOtherContentIsRefused() throws {
    var device = try device(messages: 1)
    let taken = QueueError.messageIDTaken(id: MessageID.numbered(1).description)
    #expect(throws: taken) { try device.perform(.send("other", as: 1, in: "s")) }
    #expect(throws: taken) { try device.perform(.send("text 1", as: 1, in: "t")) }
    // Canonical equivalents count as different content.
    try device.perform(.send("\u{E9}", as: 2, in: "s"))
    #expect(throws: QueueError.messageIDTaken(id: MessageID.numbered(2).description)) {
      try device.perform(.send("e\u{301}", as: 2, in: "s"))
    }
  }

  @Test func aCancelledIdIsNotSentAgainSilently() throws {
    var device = try device(messages: 1)
    try device.perform(.cancel([.numbered(1)]))
    #expect(throws: QueueError.messageCancelled(id: MessageID.numbered(1).description)) {
      try device.perform(.send("text 1", as: 1, in: "s"))
    }
  }

  // S0-9, S0-10, S0-70, S1-18, S1-19.
  @Test func cancelTakesMessagesOutAndKeepsTheirContent() throws {
    var device = try device(messages: 3)
    let outcome = try device.perform(.cancel([.numbered(1), .numbered(3), .numbered(1)]))
    #expect(outcome.notice == .affected(count: 2))
    #expect(device.workspace.numbers("s") == [2])
    let view = try device.workspace.message(.numbered(1))
    #expect(view.status == .cancelled)
    #expect(view.position == 0)
    #expect(view.content == "text 1")
    let again = try device.perform(.cancel([.numbered(1)]))
    #expect(again.notice == .unchanged)
    #expect(again.operations == [])
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.perform(.cancel([.numbered(2), .numbered(9)]))
    }
    #expect(device.workspace.numbers("s") == [2])
  }

  @Test func restoreBringsAMessageBackToItsPlace() throws {
    var device = try device(messages: 3)
    try device.perform(.cancel([.numbered(2)]))
    let outcome = try device.perform(.restore(.numbered(2)))
    #expect(outcome.notice == .queued(.numbered(2), position: 2, count: 3, warning: false))
    #expect(device.workspace.numbers("s") == [1, 2, 3])
    #expect(throws: QueueError.messageNotCancelled(id: MessageID.numbered(2).description)) {
      try device.perform(.restore(.numbered(2)))
    }
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.perform(.restore(.numbered(9)))
    }
  }

  @Test func restoreGoesBeyondTheCap() throws {
    var device = TestDevice(1, queueSizeMax: 1)
    try device.perform(.send("one", as: 1, in: "s"))
    try device.perform(.cancel([.numbered(1)]))
    try device.perform(.send("two", as: 2, in: "s"))
    try device.perform(.restore(.numbered(1)))
    #expect(device.workspace.numbers("s") == [1, 2])
  }

  @Test func clearCancelsAllOfOneSession() throws {
    var device = try device(messages: 3)
    try device.perform(.send("elsewhere", as: 9, in: "t"))
    #expect(try device.perform(.clear(.named("s"))).notice == .affected(count: 3))
    #expect(device.workspace.numbers("s") == [])
    #expect(device.workspace.numbers("t") == [9])
    #expect(try device.perform(.clear(.named("s"))).notice == .unchanged)
    #expect(throws: QueueError.sessionNotFound(id: "x")) {
      try device.perform(.clear(.named("x")))
    }
  }

  // S0-13, S0-70.
  @Test func priorityMovesBetweenTheBlocksAndKeepsThePlace() throws {
    var device = try device(messages: 3)
    #expect(
      try device.perform(.setPriority(.numbered(3), .urgent)).notice == .moved(position: 1))
    #expect(device.workspace.numbers("s") == [3, 1, 2])
    let same = try device.perform(.setPriority(.numbered(3), .urgent))
    #expect(same.notice == .unchanged)
    #expect(same.operations == [])
    try device.perform(.setPriority(.numbered(3), .normal))
    #expect(device.workspace.numbers("s") == [1, 2, 3])
    try device.perform(.cancel([.numbered(1)]))
    #expect(throws: QueueError.messageCancelled(id: MessageID.numbered(1).description)) {
      try device.perform(.setPriority(.numbered(1), .urgent))
    }
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.perform(.setPriority(.numbered(9), .urgent))
    }
  }

  @Test func aShortenedIdNamesItsMessage() throws {
    var device = TestDevice(1)
    let ids = [
      MessageID(high: 0xABCD_EF01_2345_4678, low: 1),
      MessageID(high: 0xABCD_0000_0000_4000, low: 2),
    ]
    for id in ids {
      try device.perform(.send(.init(session: .named("s"), id: id, text: "text")))
    }
    let workspace = device.workspace
    #expect(try workspace.messageID(fromPrefix: "abcde") == ids[0])
    #expect(try workspace.messageID(fromPrefix: "ABCD0") == ids[1])
    #expect(try workspace.messageID(fromPrefix: "abcdef01-23") == ids[0])
    #expect(try workspace.messageID(fromPrefix: ids[1].description) == ids[1])
    #expect(
      throws: QueueError.messageAmbiguous(
        prefix: "abcd",
        candidates: zip(ids.sorted(), ["abcd0000", "abcdef01"]).map {
          MessageCandidate(id: $0, beginning: $1, session: .named("s"), text: "text")
        })
    ) { try workspace.messageID(fromPrefix: "abcd") }
    for unknown in ["abce", "", "-", "zz", "abcd%", "abc", "a", MessageID.numbered(5).description] {
      #expect(throws: QueueError.messageNotFound(id: unknown)) {
        try workspace.messageID(fromPrefix: unknown)
      }
    }
  }

  @Test func aShortenedIdThatFitsSeveralTellsWhatCanBeTyped() throws {
    var device = TestDevice(1)
    let texts: [(UInt64, String)] = [(0x11, "one\nand more"), (0x12, "two"), (0x2F, "three")]
    for (low, text) in texts {
      let id = MessageID(high: 0xABCD_EF01_2345_4678, low: low)
      try device.perform(.send(.init(session: .named("s"), id: id, text: text)))
    }
    let workspace = device.workspace
    let error = #expect(throws: QueueError.self) { try workspace.messageID(fromPrefix: "abcd") }
    guard case .messageAmbiguous(_, let candidates)? = error else {
      Issue.record("not ambiguous")
      return
    }
    #expect(candidates.map(\.text) == ["one", "two", "three"])
    for candidate in candidates {
      #expect(try workspace.messageID(fromPrefix: candidate.beginning) == candidate.id)
      #expect(
        error?.description.contains("\(candidate.beginning)  s: \(candidate.text)\n") == true
          || error?.description.hasSuffix("\(candidate.beginning)  s: \(candidate.text)") == true)
    }
  }

  @Test func oneCommandNamesAtMostTheBatchMaximum() throws {
    var device = try device(messages: 1)
    let many = (0...UInt64(Limits.batchMax)).map { MessageID.numbered($0 + 1) }
    let limit = QueueError.limitReached(what: "items in one command", max: Limits.batchMax)
    #expect(throws: limit) { try device.perform(.cancel(many)) }
    #expect(throws: limit) { try device.perform(.move(many, to: .position(1))) }
    let allowed = Array(repeating: MessageID.numbered(1), count: Limits.batchMax)
    #expect(try device.perform(.cancel(allowed)).notice == .affected(count: 1))
  }
}

extension DeviceView {
  /// The device's own view of itself.
  fileprivate static func named(_ name: String, in device: TestDevice) -> DeviceView? {
    let view = device.workspace.device(of: device.replica)
    return view?.name == name ? view : nil
  }
}
