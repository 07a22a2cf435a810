import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A message that interrupts goes first of its priority, and stops a turn only if it could start then.
struct InterruptTests {
  private static let session = SessionID.named("s")

  /// Message 1 runs, 2 waits, 3 is urgent.
  private static func setUp(_ device: inout TestDevice) throws {
    for number in 1...2 as ClosedRange<UInt64> {
      try device.perform(.send("text \(number)", as: number, in: "s"))
    }
    try device.perform(.send("urgent", as: 3, in: "s", .urgent))
    try report(.running, on: &device)
  }

  private static func report(
    _ phase: RunPhase, of number: UInt64 = 1, attempt: UInt16 = 1, on device: inout TestDevice
  ) throws {
    try device.perform(
      .reportRun(
        .numbered(number),
        Run(token: 1, attempt: attempt, phase: phase, milliseconds: 1)))
  }

  private static func first(_ number: UInt64, _ priority: Priority = .normal) -> Command {
    var send = Command.Send(
      session: session, id: .numbered(number), text: "now \(number)", priority: priority)
    send.goesFirst = true
    return .send(send)
  }

  private static func obstacle(
    _ device: TestDevice, for number: UInt64 = 9, at turn: UInt64 = 1, attempt: UInt16 = 1
  ) -> InterruptObstacle? {
    InterruptObstacle.found(
      for: .numbered(number), stopping: (.numbered(turn), attempt), in: device.workspace,
      by: device.now)
  }

  // I-400
  @Test func itGoesBeforeTheOthersOfItsPriority() throws {
    var device = TestDevice(1)
    try Self.setUp(&device)
    let outcome = try device.perform(Self.first(9))
    #expect(outcome.notice == .queued(.numbered(9), position: 3, count: 4, warning: false))
    #expect(device.workspace.numbers("s") == [1, 3, 9, 2])
    try device.perform(Self.first(8, .urgent))
    #expect(device.workspace.numbers("s") == [1, 8, 3, 9, 2])
    // Of two that go first, the later one does.
    try device.perform(Self.first(7))
    #expect(device.workspace.numbers("s") == [1, 8, 3, 7, 9, 2])
    // Sent again, it stays where it is.
    let again = try device.perform(Self.first(9))
    #expect(
      again.operations.isEmpty
        && again.notice == .queued(.numbered(9), position: 5, count: 6, warning: false))
    try device.perform(.undo)
    #expect(device.workspace.numbers("s") == [1, 8, 3, 9, 2])
    var empty = TestDevice(2)
    try empty.perform(Self.first(9))
    #expect(empty.workspace.numbers("s") == [9])
    try empty.perform(.send("behind", as: 10, in: "s"))
    #expect(empty.workspace.numbers("s") == [9, 10])
  }

  // I-401
  @Test func aTurnIsStoppedForAMessageThatCouldStart() throws {
    var device = TestDevice(1)
    try Self.setUp(&device)
    try device.perform(Self.first(9))
    #expect(Self.obstacle(device) == nil)
    // Another attempt than its user saw, another message, and the message itself.
    #expect(Self.obstacle(device, attempt: 2) == .over)
    #expect(Self.obstacle(device, at: 2) == .over)
    #expect(Self.obstacle(device, for: 1) == .over)
    // One of another session does not start there.
    try device.perform(.send("elsewhere", as: 10, in: "t"))
    #expect(Self.obstacle(device, for: 10) == .over)
    try device.perform(.cancel([.numbered(9)]))
    #expect(Self.obstacle(device) == .withdrawn)
    try device.perform(.restore(.numbered(9)))
    try device.perform(.stopAttempt(.numbered(1), attempt: 1))
    #expect(Self.obstacle(device) == .stopping)
    try Self.report(.cancelled, on: &device)
    #expect(Self.obstacle(device) == .over)
  }

  // I-402
  @Test func aMessageThatCouldNotStartStopsNothing() throws {
    var device = TestDevice(1)
    try Self.setUp(&device)
    try device.perform(Self.first(9))
    try device.perform(.pause(Self.session, reason: nil))
    #expect(Self.obstacle(device) == .paused)
    try device.perform(.resume(Self.session))
    let time = device.now + 60_000
    try device.perform(.setLater(.numbered(9), time))
    #expect(Self.obstacle(device) == .later(time))
    device.now += 120_000
    #expect(Self.obstacle(device) == nil)
    try device.perform(.setNeeds(.numbered(9), [.numbered(1)]))
    guard case .needs(let need)? = Self.obstacle(device) else {
      Issue.record("\(String(describing: Self.obstacle(device)))")
      return
    }
    #expect(need.message == .numbered(1))
    try device.perform(.setNeeds(.numbered(9), []))
    #expect(Self.obstacle(device) == nil)
    // Another message waits for a decision before it.
    try Self.report(.failed, of: 3, on: &device)
    #expect(Self.obstacle(device) == .undecided)
  }

  @Test func aMergedMessageStopsNothing() throws {
    var (first, second) = (TestDevice(1), TestDevice(2))
    try Self.setUp(&first)
    try first.perform(Self.first(9))
    try second.merge(first.made)
    try first.perform(.edit(.numbered(9), content: "now on the left", base: nil))
    try second.perform(.edit(.numbered(9), content: "now on the right", base: nil))
    try first.merge(second.made)
    #expect(Self.obstacle(first) == .undecided)
  }

  // I-403: the rows of the table of conflicts.
  @Test func whatGoesFirstMeets() throws {
    let first = { (number: UInt64) in
      { (device: inout TestDevice) in
        _ = try device.perform(Self.first(number))
      }
    }
    try ConflictScenario.verify(setup: { try Self.setUp(&$0) }, authors: [first(8), first(9)]) {
      #expect(
        Array($0.workspace.numbers("s")) == [1, 3, 8, 9, 2]
          || $0.workspace.numbers("s") == [1, 3, 9, 8, 2])
    }
    try ConflictScenario.verify(
      setup: { try Self.setUp(&$0) },
      authors: [first(9), { try $0.perform(.send("behind", as: 10, in: "s")) }]
    ) { #expect($0.workspace.numbers("s") == [1, 3, 9, 2, 10]) }
    try ConflictScenario.verify(
      setup: { try Self.setUp(&$0) },
      authors: [first(9), { try $0.perform(.cancel([.numbered(2)])) }]
    ) { #expect($0.workspace.numbers("s") == [1, 3, 9]) }
    // The turn ended meanwhile: what its host wrote counts, and the message is as any other.
    try ConflictScenario.verify(
      setup: { try Self.setUp(&$0) },
      authors: [
        { device in
          try device.perform(Self.first(9))
          try device.perform(.stopAttempt(.numbered(1), attempt: 1))
        },
        { try Self.report(.succeeded, on: &$0) },
      ]
    ) { device in
      #expect(device.workspace.status(1) == .succeeded)
      #expect(device.workspace.numbers("s") == [3, 9, 2])
    }
    // Its sender wants it elsewhere, or another text: that counts, and the stop as well.
    try ConflictScenario.verify(
      setup: { device in
        try Self.setUp(&device)
        try device.perform(Self.first(9))
      },
      authors: [
        { try $0.perform(.stopAttempt(.numbered(1), attempt: 1)) },
        { device in
          try device.perform(.edit(.numbered(9), content: "now, please", base: nil))
          try device.perform(.move([.numbered(9)], to: .after(.numbered(2))))
        },
      ]
    ) { device in
      let (stopped, edited) = (
        try device.workspace.message(.numbered(1)), try device.workspace.message(.numbered(9))
      )
      #expect(stopped.withdrawal == .stopped && edited.content == "now, please")
      #expect(device.workspace.numbers("s") == [1, 3, 2, 9])
    }
  }
}
