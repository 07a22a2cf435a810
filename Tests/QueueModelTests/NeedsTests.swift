import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// A message that waits for others: it is not in line before they have succeeded, and keeps its place.
struct NeedsTests {
  private static let host = DeviceID(high: 0xD, low: 1)
  private static let session = SessionID.named("s")
  private static let other = SessionID.named("t")

  /// Messages 1 to 3 in one session, 11 and 12 in another one.
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    for session in [Self.session, Self.other] {
      try device.perform(.addSession(session, name: nil, project: nil))
      try device.perform(.setHost(session, Self.host))
    }
    for number in UInt64(1)...3 {
      try device.perform(.send("text \(number)", as: number, in: "s"))
    }
    for number in UInt64(11)...12 {
      try device.perform(.send("text \(number)", as: number, in: "t"))
    }
    return device
  }

  private func next(_ device: TestDevice, in session: SessionID = Self.session) -> MessageID? {
    device.workspace.startable(in: session, by: .max)?.message
  }

  private func needs(_ device: TestDevice, _ number: UInt64 = 1) throws -> [MessageID] {
    try device.workspace.message(.numbered(number)).needs
  }

  private func unmet(_ device: TestDevice, _ number: UInt64 = 1) -> [MessageID] {
    device.workspace.unmetNeeds(of: .numbered(number)).map(\.message)
  }

  private func report(
    _ phase: RunPhase, of number: UInt64, attempt: UInt16 = 1, by device: inout TestDevice
  ) throws {
    let run = Run(token: 1, attempt: attempt, phase: phase, milliseconds: device.now)
    try device.perform(.reportRun(.numbered(number), run))
  }

  /// Who imports a document does not know what has succeeded elsewhere.
  @Test func aDocumentHasOnlyTheNeedsThatAreOpen() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11), .numbered(3)]))
    try device.perform(.setNeeds(.numbered(2), [.numbered(11)]))
    try report(.succeeded, of: 11, by: &device)
    let document = device.workspace.document()
    var other = TestDevice(2)
    #expect(other.workspace.counts(of: document).inVain == 0)
    try other.perform(.importDocument(document))
    #expect(try needs(other) == [.numbered(3)] && needs(other, 2) == [])
    var part = document
    for index in part.sessions.indices {
      part.sessions[index].messages.removeAll { $0.id == .numbered(3) }
    }
    #expect(TestDevice(3).workspace.counts(of: part).inVain == 1)
  }

  @Test func whatIsBehindGoesFirstUntilAllHaveSucceeded() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11), .numbered(3)]))
    #expect(try needs(device) == [.numbered(11), .numbered(3)])
    #expect(next(device) == .numbered(2))
    try report(.succeeded, of: 2, by: &device)
    #expect(next(device) == .numbered(3))
    try report(.succeeded, of: 3, by: &device)
    #expect(next(device) == nil && unmet(device) == [.numbered(11)])
    let line = QueueLine(of: Self.session, in: device.workspace, by: .max)
    #expect(line.first == nil && line.next == nil && line.needy == .numbered(1) && line.isAwaited)
    #expect(QueueLine.comes(to: Self.session, in: device.workspace))
    try report(.running, of: 11, by: &device)
    #expect(next(device) == nil)
    try report(.succeeded, of: 11, by: &device)
    #expect(next(device) == .numbered(1) && unmet(device) == [])
    let order = try device.workspace.messageQueue(Self.session).messages.map(\.id)
    #expect(order == [.numbered(1)])
  }

  @Test func aSendCanWaitForOthers() throws {
    var device = try device()
    var send = Command.Send(session: Self.session, id: .numbered(4), text: "then")
    send.needs = [.numbered(12), .numbered(11), .numbered(12)]
    try device.perform(.send(send))
    #expect(try needs(device, 4) == [.numbered(12), .numbered(11)])
    try device.perform(.undo)
    #expect(device.workspace.status(4) == .cancelled)
  }

  /// The status of a message that others wait for, as these show it.
  @Test func whatCameToNothingHoldsWithThatReason() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    func reason() -> UnmetNeed? { device.workspace.unmetNeeds(of: .numbered(1)).first }
    func expect(_ status: MessageStatus, isPending: Bool = false) {
      let need = UnmetNeed(message: .numbered(11), session: Self.other, status: status)
      #expect(reason() == need && need.isPending == isPending && next(device) == .numbered(2))
    }
    expect(.queued, isPending: true)
    try report(.running, of: 11, by: &device)
    expect(.running, isPending: true)
    for (attempt, phase) in [(UInt16(1), RunPhase.failed), (2, .unknown), (3, .interrupted)] {
      try report(phase, of: 11, attempt: attempt, by: &device)
      expect(phase == .failed ? .failed : phase == .unknown ? .unknown : .interrupted)
      try device.perform(.retry(.numbered(11)))
      expect(.queued, isPending: true)
    }
    try report(.failed, of: 11, attempt: 4, by: &device)
    try device.perform(.skip(.numbered(11)))
    expect(.skipped)
    try device.perform(.restore(.numbered(11)))
    try device.perform(.cancel([.numbered(11)]))
    expect(.cancelled)
    try device.perform(.restore(.numbered(11)))
    try device.perform(.deleteSession(Self.other))
    expect(.cancelled)
    // A person decides.
    try device.perform(.setNotBefore(.numbered(1), nil))
    #expect(reason() == nil && next(device) == .numbered(1))
  }

  @Test func aForgottenOneCountsAsItEnded() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try device.perform(.setNeeds(.numbered(2), [.numbered(12)]))
    try report(.succeeded, of: 11, by: &device)
    try report(.failed, of: 12, by: &device)
    try device.perform(.skip(.numbered(12)))
    let context = CommandContext(
      replica: device.replica, stamp: Stamp(milliseconds: 1 << 40), recordsUndo: false)
    _ = try device.workspace.forget([.numbered(11), .numbered(12)], in: context)
    #expect(try device.workspace.message(.numbered(11)).content == "")
    #expect(unmet(device) == [] && unmet(device, 2) == [.numbered(12)])
    #expect(device.workspace.unmetNeeds(of: .numbered(2)).first?.status == .skipped)
    // A success counts in a session that is deleted, too.
    try device.perform(.deleteSession(Self.other))
    #expect(unmet(device) == [])
  }

  @Test func whatCannotBeWaitedForIsRefused() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(2), [.numbered(1)]))
    try device.perform(.setNeeds(.numbered(3), [.numbered(2)]))
    let before = device.workspace.image()
    func refuse(_ number: UInt64, _ needs: [MessageID], _ error: QueueError) {
      #expect(throws: error) { try device.perform(.setNeeds(.numbered(number), needs)) }
    }
    let (one, three) = (MessageID.numbered(1).description, MessageID.numbered(3).description)
    refuse(1, [.numbered(1)], .needsEachOther(id: one, need: one))
    refuse(1, [.numbered(11), .numbered(3)], .needsEachOther(id: one, need: three))
    refuse(1, [.numbered(99)], .messageNotFound(id: MessageID.numbered(99).description))
    refuse(99, [.numbered(1)], .messageNotFound(id: MessageID.numbered(99).description))
    refuse(
      1, (100..<117).map { .numbered($0) },
      .limitReached(what: "messages that one message waits for", max: 16))
    var send = Command.Send(session: Self.session, id: .numbered(98), text: "text")
    send.needs = [.numbered(99)]
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(99).description)) {
      try device.perform(.send(send))
    }
    #expect(device.workspace.image() == before)
    try report(.running, of: 1, by: &device)
    refuse(1, [.numbered(11)], .alreadyStarted(id: one))
  }

  /// A start releases what waits, and changes nothing once its needs are met.
  @Test func aStartOfWhatWaitsForNothingChangesNothing() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(2), [.numbered(1)]))
    try report(.succeeded, of: 1, by: &device)
    #expect(try device.perform(.setNotBefore(.numbered(2), nil)).notice == .unchanged)
    try device.perform(.setNeeds(.numbered(3), [.numbered(2)]))
    #expect(try device.perform(.setNotBefore(.numbered(3), nil)).notice == .done)
  }

  /// Whoever was queued first does not wait, whatever the order in which devices hear of it.
  @Test func circlesAreCutAtTheSamePlaceEverywhere() throws {
    var one = try device()
    var two = TestDevice(2, now: one.now)
    var three = TestDevice(3, now: one.now)
    try two.merge(one.made)
    try three.merge(one.made)
    try one.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try two.perform(.setNeeds(.numbered(11), [.numbered(2)]))
    try three.perform(.setNeeds(.numbered(2), [.numbered(1)]))
    try one.merge(three.made)
    // No circle yet.
    #expect(unmet(one) == [.numbered(11)] && unmet(one, 2) == [.numbered(1)])
    try one.merge(two.made)
    try two.merge(three.made)
    let first = Array(one.made.suffix(1))
    try two.merge(first)
    try three.merge(first)
    try three.merge(two.made)
    for device in [one, two, three] {
      #expect(unmet(device) == [] && next(device) == .numbered(1))
      #expect(unmet(device, 2) == [.numbered(1)])
      #expect(unmet(device, 11) == [.numbered(2)])
    }
    #expect(one.workspace.image() == two.workspace.image())
    #expect(one.workspace.image() == three.workspace.image())
    // All of them run, one after the other.
    for number in [UInt64(1), 2] { try report(.succeeded, of: number, by: &one) }
    #expect(next(one, in: Self.other) == .numbered(11))
  }

  /// Each waits for the sixteen that were queued after it, and these for later ones: following them
  /// again for each need would take minutes.
  @Test func needsOfAWholeQueueAreFollowedOnce() throws {
    var device = TestDevice(1, queueSizeMax: 1_000)
    try device.perform(.addSession(Self.session, name: nil, project: nil))
    let count: UInt64 = 400
    for number in 1...count { try device.perform(.send("t", as: number, in: "s")) }
    for number in (1..<count).reversed() {
      let needs = (number + 1...min(number + 16, count)).map { MessageID.numbered($0) }
      try device.perform(.setNeeds(.numbered(number), needs))
    }
    var line: QueueLine?
    let time = ContinuousClock().measure {
      line = QueueLine(of: Self.session, in: device.workspace, by: .max)
    }
    #expect(line?.first == .numbered(count) && line?.needy == .numbered(1))
    #expect(time < .seconds(5), "\(time)")
  }

  @Test func anEditAMoveAndARestoreKeepTheNeeds() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try device.perform(.edit(.numbered(1), content: "other", base: nil))
    try device.perform(.move([.numbered(1)], to: .position(2)))
    try device.perform(.move([.numbered(1)], to: .after(.numbered(12))))
    try device.perform(.cancel([.numbered(1)]))
    try device.perform(.restore(.numbered(1)))
    #expect(try needs(device) == [.numbered(11)])
    let document = device.workspace.document()
    var other = TestDevice(2, now: device.now + 60_000)
    try other.perform(.importDocument(document))
    #expect(try needs(other) == [.numbered(11)] && unmet(other) == [.numbered(11)])
    let dumped = device.workspace.dump().sessions.last?.messages.map(\.needs)
    #expect(dumped == [nil, nil, [.numbered(11)]])
    try device.restoreFromSnapshot()
    #expect(try needs(device) == [.numbered(11)] && unmet(device) == [.numbered(11)])
  }

  /// A document may name messages that are not there.
  @Test func whatNobodyKnowsHoldsUntilItComes() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    var document = device.workspace.document()
    document.sessions.removeAll { $0.id == Self.other }
    var other = TestDevice(2, now: device.now)
    try other.perform(.importDocument(document))
    let need = try #require(other.workspace.unmetNeeds(of: .numbered(1)).first)
    #expect(need == UnmetNeed(message: .numbered(11)) && !need.isPending)
    document.sessions[0].messages[0].needs = (0..<17).map { .numbered($0) }
    #expect(throws: QueueError.self) { try other.perform(.importDocument(document)) }
  }

  enum Other: String, CaseIterable {
    case needs, start, later, edit, cancel, move, cancelOfTheNeed
  }

  /// The rows of the conflict table: after ∥ each of these.
  @Test(arguments: Other.allCases, [false, true])
  func needsMeet(_ change: Other, isLast: Bool) throws {
    var one = try device()
    var other = TestDevice(2, now: one.now)
    if change == .start { try one.perform(.setNeeds(.numbered(1), [.numbered(12)])) }
    try other.merge(one.made)
    (one.now, other.now) = isLast ? (one.now + 50, one.now) : (one.now, one.now + 50)
    try one.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    switch change {
    case .needs: try other.perform(.setNeeds(.numbered(1), [.numbered(2)]))
    case .start: try other.perform(.setNotBefore(.numbered(1), nil))
    case .later: try other.perform(.setLater(.numbered(1), other.now + 60_000))
    case .edit: try other.perform(.edit(.numbered(1), content: "other", base: nil))
    case .cancel: try other.perform(.cancel([.numbered(1)]))
    case .move: try other.perform(.move([.numbered(1)], to: .position(2)))
    case .cancelOfTheNeed: try other.perform(.cancel([.numbered(11)]))
    }
    try one.merge(other.made)
    try other.merge(one.made)
    #expect(one.workspace.image() == other.workspace.image())
    (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
    switch change {
    case .needs: #expect(try needs(one) == [isLast ? .numbered(11) : .numbered(2)])
    case .start: #expect(try needs(one) == (isLast ? [.numbered(11)] : []))
    case .later:
      #expect(try one.workspace.message(.numbered(1)).later != nil && needs(one) == [.numbered(11)])
    case .edit:
      #expect(try one.workspace.message(.numbered(1)).content == "other")
      #expect(try needs(one) == [.numbered(11)])
    case .cancel:
      #expect(one.workspace.status(1) == .cancelled)
      try one.perform(.restore(.numbered(1)))
      #expect(try needs(one) == [.numbered(11)])
    case .move: #expect(try needs(one) == [.numbered(11)])
    case .cancelOfTheNeed:
      #expect(one.workspace.unmetNeeds(of: .numbered(1)).map(\.status) == [.cancelled])
    }
    let oracle = SlowWorkspace(one.made + other.made).state()
    #expect(unmet(one) == oracle.unmetNeeds(of: .numbered(1)))
  }

  /// Whatever an agent has or failed at is in line; tried again, it waits for the others.
  @Test func whatStartedGoesOn() throws {
    var device = try device()
    var other = TestDevice(2, now: device.now)
    try other.merge(device.made)
    try other.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try report(.running, of: 1, by: &device)
    try device.merge(other.made)
    #expect(next(device) == nil)
    try report(.failed, of: 1, by: &device)
    #expect(next(device) == nil)
    try device.perform(.retry(.numbered(1)))
    #expect(next(device) == .numbered(2))
    try report(.succeeded, of: 11, by: &device)
    #expect(next(device) == .numbered(1))
  }

  @Test func anUndoStartsNothing() throws {
    var device = try device()
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(try needs(device) == [] && next(device) == nil)
    try device.perform(.resume(Self.session))
    try device.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try device.perform(.setLater(.numbered(1), device.now + 60_000))
    try device.perform(.setNotBefore(.numbered(1), nil))
    // One step back is both: the messages behind it could start now.
    #expect(try device.perform(.undo).notice.undoResult?.paused == [Self.session])
    #expect(try needs(device) == [.numbered(11)])
    #expect(try device.workspace.message(.numbered(1)).later != nil && next(device) == nil)
  }

  /// A circle that an undo closes lets a message of another session start.
  @Test func anUndoThatClosesACircleStartsNothing() throws {
    var one = try device()
    var other = TestDevice(2, now: one.now)
    try other.merge(one.made)
    try one.perform(.setNeeds(.numbered(11), [.numbered(1)]))
    try one.perform(.setNotBefore(.numbered(11), nil))
    try other.perform(.setNeeds(.numbered(1), [.numbered(11)]))
    try one.merge(other.made)
    #expect(unmet(one) == [.numbered(11)] && unmet(one, 11) == [])
    let paused = try one.perform(.undo).notice.undoResult?.paused
    #expect(unmet(one) == [] && unmet(one, 11) == [.numbered(1)])
    #expect(paused?.contains(Self.session) == true && next(one) == nil)
  }

  /// Whatever people do on two devices, the first in line is what the oracle finds, nothing waits in a
  /// circle, and both devices see the same.
  @Test(arguments: TestSeeds.list(standard: 60))
  func theLineIsThatOfTheOracle(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var devices = [TestDevice(1), TestDevice(2)]
    let count = 2 + generator.below(9)
    for number in 1...UInt64(count) {
      let session = generator.chance(50) ? "s" : "t"
      try devices[0].perform(.send("text", as: number, in: session))
    }
    try devices[1].merge(devices[0].made)
    devices[1].now = devices[0].now
    for _ in 0..<30 {
      let index = generator.below(2)
      let id = MessageID.numbered(1 + UInt64(generator.below(count)))
      let needs = (0..<generator.below(4)).map { _ in
        MessageID.numbered(1 + UInt64(generator.below(count)))
      }
      let run = Run(
        token: 1, attempt: 1,
        phase: generator.pick([.running, .failed, .succeeded]) ?? .running,
        milliseconds: devices[index].now)
      let command: Command =
        switch generator.below(8) {
        case 0...4: .setNeeds(id, needs)
        case 5: .cancel([id])
        case 6: .reportRun(id, run)
        default: .setNotBefore(id, nil)
        }
      _ = try? devices[index].perform(command)
      guard generator.chance(25) else { continue }
      try devices[0].merge(devices[1].made)
      try devices[1].merge(devices[0].made)
      let oracle = SlowWorkspace(devices[0].made + devices[1].made).state()
      for device in devices {
        for session in [Self.session, Self.other] {
          let line = QueueLine(of: session, in: device.workspace, by: .max)
          #expect(line.first == oracle.inLine(of: session, by: .max), "seed \(seed)")
        }
        for number in 1...UInt64(count) {
          #expect(
            device.workspace.unmetNeeds(of: .numbered(number)).map(\.message)
              == oracle.unmetNeeds(of: .numbered(number)), "seed \(seed)")
          #expect(!waitsForItself(.numbered(number), device.workspace), "seed \(seed)")
        }
        #expect(oracle.differences(from: device.workspace) == [], "seed \(seed)")
      }
    }
  }

  private func waitsForItself(_ id: MessageID, _ workspace: Workspace) -> Bool {
    var found: Set<MessageID> = []
    var new = [id]
    while !new.isEmpty {
      new = new.flatMap { workspace.unmetNeeds(of: $0).map(\.message) }
        .filter { found.insert($0).inserted }
    }
    return found.contains(id)
  }
}
