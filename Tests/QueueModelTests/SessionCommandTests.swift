import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Sessions, their names, pauses and ids.
struct SessionCommandTests {
  @Test func aSessionWithoutANameIsCalledByItsId() throws {
    var device = TestDevice(1)
    #expect(try device.perform(.addSession(.named("s"), name: nil, project: nil)).notice == .done)
    #expect(device.workspace.sessions().map(\.name) == ["s"])
    try device.perform(.renameSession(.named("s"), name: "  My session "))
    #expect(device.workspace.sessions().map(\.name) == ["My session"])
    let same = try device.perform(.renameSession(.named("s"), name: "My session"))
    #expect(same.notice == .unchanged)
    #expect(same.operations == [])
  }

  @Test func addingAKnownSessionAgainChangesOnlyWhatIsGiven() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: "name", project: "/path"))
    #expect(
      try device.perform(.addSession(.named("s"), name: nil, project: nil)).notice == .unchanged)
    try device.perform(.addSession(.named("s"), name: nil, project: "/other"))
    let view = try #require(device.workspace.sessions().first)
    #expect(view.name == "name")
    #expect(view.project == "/other")
  }

  @Test func namesAreBoundedAndNotBlank() throws {
    var device = TestDevice(1)
    let longest = String(repeating: "n", count: Limits.nameBytesMax)
    try device.perform(.addSession(.named("s"), name: longest, project: longest))
    let tooLong = longest + "n"
    let refused: [Command] = [
      .renameSession(.named("s"), name: tooLong), .renameSession(.named("s"), name: " \n"),
      .addSession(.named("t"), name: tooLong, project: nil),
      .addSession(.named("t"), name: nil, project: tooLong),
      .addSession(.named("t"), name: "", project: nil),
      .pause(.named("s"), reason: tooLong),
      .send(
        .init(session: .named("t"), id: .numbered(1), text: "text", project: tooLong)),
    ]
    for command in refused {
      let error = #expect(throws: QueueError.self) { try device.perform(command) }
      #expect(error?.code == "invalidName")
    }
    #expect(device.workspace.sessions().map(\.id.rawValue) == ["s"])
    try device.perform(.pause(.named("s"), reason: longest))
  }

  @Test func deletingASessionCancelsItsMessages() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "s"))
    try device.perform(.pause(.named("s"), reason: nil))
    try device.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
    try device.perform(.setOnMerge(.named("s"), .run))
    #expect(try device.perform(.deleteSession(.named("s"))).notice == .done)
    #expect(device.workspace.sessions() == [])
    #expect(device.workspace.status(1) == .cancelled)
    #expect(throws: QueueError.sessionNotFound(id: "s")) {
      try device.workspace.messageQueue(.named("s"))
    }
    for command in [
      Command.deleteSession(.named("s")), .renameSession(.named("s"), name: "n"),
      .pause(.named("s"), reason: nil), .resume(.named("s")), .clear(.named("s")),
    ] {
      #expect(throws: QueueError.sessionNotFound(id: "s")) { try device.perform(command) }
    }
    // A send restores it, as a new one.
    try device.perform(.send("two", as: 2, in: "s"))
    #expect(device.workspace.numbers("s") == [2])
    let session = try #require(device.workspace.session(.named("s")))
    #expect(!session.paused)
    #expect(session.host == nil)
    #expect(session.onMerge == .wait)
  }

  @Test func anUndoneSendIntoADeletedSessionLeavesItDeleted() throws {
    var device = TestDevice(1)
    let host = DeviceID(high: 0xD, low: 1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    try device.perform(.setHost(.named("s"), host))
    try device.perform(.setOnLostServer(.named("s"), .stop))
    try device.perform(.pause(.named("s"), reason: "freeze"))
    try device.perform(.deleteSession(.named("s")))
    try device.perform(.send("new", as: 2, in: "s"))
    #expect(device.workspace.session(.named("s"))?.onLostServer == .finish)
    try device.perform(.undo)
    #expect(device.workspace.session(.named("s")) == nil)
    try device.perform(.undo)
    let session = try #require(device.workspace.session(.named("s")))
    #expect(session.paused && session.host == host && session.onLostServer == .stop)
  }

  // S0-17, S0-18.
  @Test func pauseAndResumeAreShownWithTheirReasons() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    #expect(try device.perform(.resume(.named("s"))).notice == .unchanged)
    #expect(try device.perform(.pause(.named("s"), reason: " rate limit ")).notice == .done)
    var queue = try device.workspace.messageQueue(.named("s"))
    #expect(queue.paused)
    #expect(queue.pauseReasons == ["rate limit"])
    // A pause counts even if the queue is already paused: a resume elsewhere has not seen this one.
    #expect(try device.perform(.pause(.named("s"), reason: "rate limit")).notice == .done)
    #expect(try device.workspace.messageQueue(.named("s")).pauseReasons == ["rate limit"])
    try device.perform(.pause(.named("s"), reason: nil))
    queue = try device.workspace.messageQueue(.named("s"))
    #expect(queue.paused)
    #expect(queue.pauseReasons == [])
    #expect(device.workspace.sessions().map(\.paused) == [true])
    #expect(try device.perform(.resume(.named("s"))).notice == .done)
    #expect(try !device.workspace.messageQueue(.named("s")).paused)
  }

  @Test func aPausedQueueStillTakesMessages() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    try device.perform(.pause(.named("s"), reason: nil))
    try device.perform(.send("one", as: 1, in: "s"))
    #expect(device.workspace.numbers("s") == [1])
  }

  @Test func sessionsAreListedByIdWithTheirCounts() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "b"))
    try device.perform(.send("two", as: 2, in: "a"))
    try device.perform(.send("three", as: 3, in: "b"))
    try device.perform(.cancel([.numbered(1)]))
    let sessions = device.workspace.sessions()
    #expect(sessions.map(\.id.rawValue) == ["a", "b"])
    #expect(sessions.map(\.waiting) == [1, 1])
    #expect(sessions.map(\.threadPosition) == [1, 2])
    #expect(sessions.map(\.locked) == [true, true])
    // S2-14, S2-15, S2-21: by default in no queue, without a place, not locked.
    try device.perform(.addSession(.named("c"), name: nil, project: nil))
    let fresh = try #require(device.workspace.session(.named("c")))
    #expect(fresh.threadPosition == nil && !fresh.locked)
    try device.perform(.unlockThread(.named("a")))
    #expect(device.workspace.sessions().filter(\.locked).map(\.id.rawValue) == ["b"])
  }

  // S2-23.
  @Test func sessionIdsAreFoldedToLowerCaseAndTrimmed() throws {
    #expect(try SessionID(" ABC-Def \n").rawValue == "abc-def")
    #expect(try SessionID("abc") == SessionID("ABC"))
  }

  @Test func sessionIdsAreOneTo128Bytes() throws {
    #expect(try SessionID("x").rawValue == "x")
    #expect(try SessionID(String(repeating: "é", count: 64)).rawValue.utf8.count == 128)
    for text in ["", "  ", String(repeating: "é", count: 64) + "x", "a\u{0}b", "a\u{7}", "a\nb"] {
      let error = #expect(throws: QueueError.self) { try SessionID(text) }
      #expect(error?.code == "invalidSessionID")
    }
  }

  @Test func foldingASessionIdTwiceChangesNothing() throws {
    for value in UInt32(0)...0x1_FFFF {
      guard let scalar = Unicode.Scalar(value), let id = try? SessionID("x\(scalar)y") else {
        continue
      }
      let again = try SessionID(id.rawValue)
      #expect(Array(again.rawValue.utf8) == Array(id.rawValue.utf8), "scalar \(value)")
    }
  }

  @Test func identifiersReadTheirOwnTextFormOnly() throws {
    let id = MessageID(high: 0x0123_4567_89AB_4DEF, low: 0xFEDC_BA98_7654_3210)
    #expect(id.description == "01234567-89ab-4def-fedc-ba9876543210")
    #expect(MessageID(id.description) == id)
    #expect(MessageID(id.description.uppercased()) == id)
    for text in [
      "", "01234567-89ab-4def-fedc-ba987654321", "01234567-89ab-4def-fedc-ba98765432100",
      "0123456789ab4deffedcba9876543210", "01234567-89ab-4def-fedc-ba987654321g",
      "01234567+89ab-4def-fedc-ba9876543210", "０1234567-89ab-4def-fedc-ba98765432",
    ] {
      #expect(MessageID(text) == nil)
    }
  }
}
