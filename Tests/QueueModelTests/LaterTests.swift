import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// A message that a user wants later is not in line before its time, and keeps its place.
struct LaterTests {
  private static let host = DeviceID(high: 0xD, low: 1)
  private static let session = SessionID.named("s")
  private static let time = TestDevice.startOfTime + 3_600_000

  private func device(messages: UInt64 = 2) throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.addSession(Self.session, name: nil, project: nil))
    try device.perform(.setHost(Self.session, Self.host))
    for number in 0..<messages {
      try device.perform(.send("text \(number + 1)", as: number + 1, in: "s"))
    }
    return device
  }

  private func next(_ device: TestDevice, by time: Int64) -> MessageID? {
    device.workspace.startable(in: Self.session, by: time)?.message
  }

  private func later(_ device: TestDevice, _ number: UInt64 = 1) throws -> Int64? {
    try device.workspace.message(.numbered(number)).later
  }

  private func order(_ device: TestDevice) throws -> [MessageID] {
    try device.workspace.messageQueue(Self.session).messages.map(\.id)
  }

  @Test func laterMessagesLetOthersPassUntilTheirTime() throws {
    var device = try device(messages: 3)
    try device.perform(.setLater(.numbered(1), Self.time))
    #expect(try order(device) == [.numbered(1), .numbered(2), .numbered(3)])
    #expect(next(device, by: Self.time - 1) == .numbered(2))
    #expect(next(device, by: Self.time) == .numbered(1))
    try device.perform(.setLater(.numbered(2), Self.time + 1))
    try device.perform(.setLater(.numbered(3), Self.time - 5))
    let line = QueueLine(of: Self.session, in: device.workspace, by: Self.time - 6)
    #expect(line.first == nil && line.next == Self.time - 5)
    #expect(line.nextMessage == .numbered(3))
    #expect(next(device, by: Self.time - 6) == nil)
    #expect(QueueLine.comes(to: Self.session, in: device.workspace))
    try device.perform(.pause(Self.session, reason: nil))
    #expect(!QueueLine.comes(to: Self.session, in: device.workspace))
    #expect(next(device, by: .max) == nil)
  }

  @Test func aSendCanBeForLater() throws {
    var device = try device(messages: 0)
    var send = Command.Send(session: Self.session, id: .numbered(1), text: "tonight")
    send.later = Self.time
    try device.perform(.send(send))
    #expect(try later(device) == Self.time)
    #expect(next(device, by: Self.time - 1) == nil && next(device, by: Self.time) == .numbered(1))
    // If it is sent again after its time has come, it is the same message.
    device.now = Self.time + 1
    #expect(
      try device.perform(.send(send)).notice
        == .queued(.numbered(1), position: 1, count: 1, warning: false))
    try device.perform(.undo)
    #expect(device.workspace.status(1) == .cancelled)
  }

  @Test func aTimeThatHasPassedIsRefused() throws {
    var device = try device()
    let before = device.workspace.image()
    for time in [device.now - 1, 0, -5, .min] {
      #expect(throws: QueueError.timePassed) {
        try device.perform(.setLater(.numbered(1), time))
      }
      var send = Command.Send(session: Self.session, id: .numbered(9), text: "text")
      send.later = time
      #expect(throws: QueueError.timePassed) { try device.perform(.send(send)) }
    }
    #expect(device.workspace.image() == before)
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.perform(.setLater(.numbered(9), Self.time))
    }
  }

  @Test func aStartTakesItsTimesAway() throws {
    var device = try device()
    try device.perform(.setLater(.numbered(1), Self.time))
    try device.perform(.setNotBefore(.numbered(1), Self.time + 9))
    try device.perform(.setNotBefore(.numbered(1), nil))
    let message = try device.workspace.message(.numbered(1))
    #expect(message.later == nil && message.notBefore == nil)
    #expect(try device.perform(.setNotBefore(.numbered(1), nil)).notice == .unchanged)
    // One undo takes back both.
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(try device.workspace.message(.numbered(1)).notBefore == Self.time + 9)
    #expect(try later(device) == Self.time)
  }

  @Test func anEditAMoveAndARetryKeepTheTime() throws {
    var device = try device()
    try device.perform(.setLater(.numbered(1), Self.time))
    try device.perform(.edit(.numbered(1), content: "other", base: nil))
    try device.perform(.move([.numbered(1)], to: .position(2)))
    try device.perform(.cancel([.numbered(1)]))
    try device.perform(.restore(.numbered(1)))
    #expect(try later(device) == Self.time)
    let document = device.workspace.document()
    var other = TestDevice(2, now: Self.time + 60_000)
    try other.perform(.importDocument(document))
    #expect(try later(other) == Self.time)
    #expect(
      other.workspace.document().sessions.first?.messages
        .map(\.later?.milliseconds) == [nil, Self.time])
    #expect(device.workspace.dump().sessions.first?.messages.map(\.later) == [nil, Self.time])
    try device.restoreFromSnapshot()
    #expect(try later(device) == Self.time)
    #expect(next(device, by: Self.time - 1) == .numbered(2))
  }

  /// A failed message blocks the messages behind it only while it is in line.
  @Test func aMergedMessageForLaterIsPassedOver() throws {
    var one = try device()
    var other = TestDevice(2, now: one.now)
    try other.merge(one.made)
    try one.perform(.edit(.numbered(1), content: "Use SQLite", base: nil))
    try other.perform(.edit(.numbered(1), content: "Use MySQL", base: nil))
    try one.merge(other.made)
    one.now = max(one.now, other.now)
    #expect(next(one, by: Self.time - 1) == nil)
    try one.perform(.setLater(.numbered(1), Self.time))
    #expect(next(one, by: Self.time - 1) == .numbered(2) && next(one, by: Self.time) == nil)
  }

  @Test func runningAndFailedMessagesAreInLine() throws {
    var device = try device()
    var other = TestDevice(2, now: device.now)
    try other.merge(device.made)
    try other.perform(.setLater(.numbered(1), Self.time))
    let run = Run(token: 1, attempt: 1, phase: .running, milliseconds: device.now)
    try device.perform(.reportRun(.numbered(1), run))
    try device.merge(other.made)
    #expect(try later(device) == Self.time && next(device, by: 0) == nil)
    #expect(throws: QueueError.alreadyStarted(id: MessageID.numbered(1).description)) {
      try device.perform(.setLater(.numbered(1), Self.time + 1))
    }
    let failed = Run(token: 1, attempt: 1, phase: .failed, milliseconds: device.now)
    try device.perform(.reportRun(.numbered(1), failed))
    #expect(next(device, by: 0) == nil)
    // If it is tried again, it waits for the time that was set.
    try device.perform(.retry(.numbered(1)))
    #expect(next(device, by: Self.time - 1) == .numbered(2))
    #expect(next(device, by: Self.time) == .numbered(1))
  }

  enum Other: String, CaseIterable {
    case later, start, edit, cancel, move
  }

  /// The rows of the conflict table: later ∥ each of these.
  @Test(arguments: Other.allCases, [false, true])
  func laterMeets(_ change: Other, isLast: Bool) throws {
    var one = try device()
    var other = TestDevice(2, now: one.now)
    if change == .start { try one.perform(.setLater(.numbered(1), Self.time + 7)) }
    try other.merge(one.made)
    (one.now, other.now) = isLast ? (one.now + 50, one.now) : (one.now, one.now + 50)
    try one.perform(.setLater(.numbered(1), Self.time))
    switch change {
    case .later: try other.perform(.setLater(.numbered(1), Self.time + 1))
    case .start: try other.perform(.setNotBefore(.numbered(1), nil))
    case .edit: try other.perform(.edit(.numbered(1), content: "other", base: nil))
    case .cancel: try other.perform(.cancel([.numbered(1)]))
    case .move: try other.perform(.move([.numbered(1)], to: .position(2)))
    }
    try one.merge(other.made)
    try other.merge(one.made)
    #expect(one.workspace.image() == other.workspace.image())
    (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
    switch change {
    case .later: #expect(try later(one) == (isLast ? Self.time : Self.time + 1))
    case .start: #expect(try later(one) == (isLast ? Self.time : nil))
    case .edit:
      #expect(try one.workspace.message(.numbered(1)).content == "other")
      #expect(try later(one) == Self.time)
    case .cancel:
      #expect(one.workspace.status(1) == .cancelled)
      try one.perform(.restore(.numbered(1)))
      #expect(try later(one) == Self.time)
    case .move:
      #expect(try order(one) == [.numbered(2), .numbered(1)] && later(one) == Self.time)
    }
  }

  @Test func anUndoneTimeStartsNothing() throws {
    var device = try device()
    try device.perform(.setLater(.numbered(1), Self.time))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(try later(device) == nil && next(device, by: .max) == nil)
    // Setting it to later again lets the next one start, so this is not done without a command.
    try device.perform(.resume(Self.session))
    try device.perform(.setLater(.numbered(1), Self.time))
    try device.perform(.setNotBefore(.numbered(1), nil))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(try later(device) == Self.time && next(device, by: 0) == nil)
  }

  /// A move that lets a different message start first while one in front of both is skipped.
  @Test func anUndoneMoveBehindALaterMessageWaits() throws {
    var device = try device(messages: 3)
    try device.perform(.setLater(.numbered(1), Self.time))
    try device.perform(.move([.numbered(3)], to: .position(2)))
    #expect(next(device, by: 0) == .numbered(3))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(next(device, by: 0) == nil)
  }

  /// Whatever users do, the first message in line is the one that the oracle finds, at every time.
  @Test(arguments: TestSeeds.list(standard: 40))
  func theLineIsThatOfTheOracle(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var device = TestDevice(1)
    let count = UInt64(1 + generator.below(10))
    for number in 1...count { try device.perform(.send("text", as: number, in: "s")) }
    for _ in 0..<30 {
      let id = MessageID.numbered(1 + UInt64(generator.below(Int(count))))
      let time = device.now + 1_000 + Int64(generator.below(50))
      let command: Command =
        switch generator.below(6) {
        case 0...2: .setLater(id, generator.chance(80) ? time : nil)
        case 3: .setPriority(id, generator.chance(50) ? .urgent : .normal)
        case 4: .move([id], to: .position(1))
        default:
          .reportRun(
            id,
            Run(
              token: 1, attempt: 1,
              phase: generator.pick([.running, .failed, .succeeded]) ?? .running,
              milliseconds: device.now))
        }
      _ = try? device.perform(command)
      let oracle = SlowWorkspace(device.made).state()
      for time in [0, time - 20, time, time + 20, .max] {
        let line = QueueLine(of: Self.session, in: device.workspace, by: time)
        #expect(line.first == oracle.inLine(of: Self.session, by: time), "seed \(seed)")
      }
      #expect(oracle.differences(from: device.workspace) == [], "seed \(seed)")
    }
  }
}
