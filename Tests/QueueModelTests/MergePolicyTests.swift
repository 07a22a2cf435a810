import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// What a session does with a message whose text was merged: it waits for a check, or it starts.
struct MergePolicyTests {
  static let id = MessageID.numbered(1)
  static let session = SessionID.named("s")

  /// Two devices that saved independently and then synchronized, and the session's host.
  private static func merged() throws -> (one: TestDevice, other: TestDevice) {
    var one = TestDevice(1)
    try one.perform(.send("Use a file", as: 1, in: "s"))
    try one.perform(.send("Tell me", as: 2, in: "s"))
    try one.perform(.setHost(session, DeviceID(high: 0xD, low: 1)))
    var other = TestDevice(2, now: one.now)
    try other.merge(one.made)
    try one.perform(.edit(id, content: "Use SQLite", base: nil))
    try other.perform(.edit(id, content: "Use MySQL", base: nil))
    try one.merge(other.made)
    try other.merge(one.made)
    (one.now, other.now) = (max(one.now, other.now), max(one.now, other.now))
    return (one, other)
  }

  private static func startable(_ device: TestDevice) -> MessageID? {
    device.workspace.startable(in: session)?.message
  }

  @Test func aMergedMessageStartsIfItsSessionRunsIt() throws {
    var (one, other) = try Self.merged()
    #expect(one.workspace.session(Self.session)?.onMerge == .wait)
    #expect(Self.startable(one) == nil)
    try one.perform(.setOnMerge(Self.session, .run))
    #expect(try one.perform(.setOnMerge(Self.session, .run)).notice == .unchanged)
    try other.merge(one.made)
    try other.restoreFromSnapshot()
    var away = TestDevice(3)
    try away.merge(one.made + other.made)
    for device in [one, other, away] {
      #expect(device.workspace.session(Self.session)?.onMerge == .run)
      #expect(Self.startable(device) == Self.id)
      let state = try #require(device.workspace.dispatchState(of: Self.id))
      #expect(!state.isMerged && !state.queueStands)
      // It is shown as before.
      let versions = try device.workspace.message(Self.id).versions
      #expect(versions.map(\.text) == ["Use SQLite", "Use MySQL"])
      let oracle = SlowWorkspace(one.made + other.made + device.made).state()
      #expect(oracle.differences(from: device.workspace) == [])
    }
    try other.perform(.setOnMerge(Self.session, .wait))
    #expect(Self.startable(other) == nil)
    #expect(throws: QueueError.sessionNotFound(id: "none")) {
      try other.perform(.setOnMerge(.named("none"), .run))
    }
  }

  /// If there are two settings, the later one counts, on both devices and in a join.
  @Test func theLaterSettingCounts() throws {
    var (one, other) = try Self.merged()
    try one.perform(.setOnMerge(Self.session, .run))
    other.now = one.now + 5
    try other.perform(.setOnMerge(Self.session, .run))
    try other.perform(.setOnMerge(Self.session, .wait))
    let images = (one.workspace.image(), other.workspace.image())
    try one.merge(other.made)
    try other.merge(one.made)
    for device in [one, other] { #expect(Self.startable(device) == nil) }
    let joined = try images.0.joined(with: images.1)
    #expect(joined.isExactlyEqual(to: one.workspace.image()))
  }

  /// A value of a later version of the program starts nothing.
  @Test func anUnknownSettingWaits() throws {
    var (one, _) = try Self.merged()
    let reference = try #require(one.made.compactMap(\.openedSession).first)
    let stamp = Stamp(milliseconds: one.now + 100)
    _ = try one.workspace.merge([
      Operation(
        id: OperationID(replica: ReplicaID(rawValue: 77), seq: 1),
        body: .setRegister(
          element: reference, field: .onMerge, value: .text("sometimes"), stamp: stamp))
    ])
    #expect(one.workspace.session(Self.session)?.onMerge == .wait && Self.startable(one) == nil)
  }

  /// In a session that runs merged texts, an undo of a check allows no further start.
  @Test func undoKnowsTheSetting() throws {
    var (one, _) = try Self.merged()
    try one.perform(.setOnMerge(Self.session, .run))
    try one.perform(.undo(change: nil, skip: true))
    try one.perform(.edit(Self.id, content: "Use Postgres", base: nil))
    try one.perform(.undo)
    #expect(try one.workspace.message(Self.id).isMerged)
    #expect(Self.startable(one) == Self.id)
    #expect(one.workspace.session(Self.session)?.paused == false)
    let merged = one.workspace.history(of: one.made).compactMap { entry in
      if case .setOnMerge(let policy) = entry.action { policy } else { nil }
    }
    #expect(merged == ["run"])
  }
}

extension Operation {
  fileprivate var openedSession: OperationID? {
    if case .openSession = body { id } else { nil }
  }
}
