import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// A text that is saved after the agent got another one: the text that ran is shown, and the late
/// one is kept.
struct LateEditTests {
  static let id = MessageID.numbered(1)

  /// A host, and a device that does not know what the host does.
  private struct Pair {
    var host = TestDevice(1)
    var away = TestDevice(2)
    /// The state that both know.
    private(set) var start: [Operation] = []

    init(saved: String? = nil) throws {
      try host.perform(.send("Deploy it", as: 1, in: "s", requeues: false))
      try host.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
      if let saved { try host.perform(.edit(id, content: saved, base: nil)) }
      start = host.made
      try away.merge(start)
      away.now = host.now
    }

    mutating func report(_ phase: RunPhase, attempt: UInt16 = 1) throws {
      try host.perform(
        .reportRun(
          id, Run(token: 1, attempt: attempt, phase: phase, milliseconds: host.now)))
    }

    /// The host receives the other device's change and keeps the text that ran; then the other
    /// device receives that.
    mutating func meet(keeping: Bool = true) throws {
      let before = host.workspace
      try host.merge(away.made)
      (host.now, away.now) = (max(host.now, away.now), max(host.now, away.now))
      if keeping {
        let ids = RanText.retyped(by: away.made, in: before)
        let texts = RanText.changed(
          from: before, to: host.workspace, among: ids, on: DeviceID(high: 0xD, low: 1))
        _ = try host.author { workspace, context throws(QueueError) in
          try RanText.keep(texts, in: &workspace, context)
        }
      }
      try away.merge(host.made)
    }

    func expect(
      _ status: MessageStatus, _ content: String, late: [String], versions: [String] = [],
      _ location: SourceLocation = #_sourceLocation
    ) throws {
      var restarted = away
      try restarted.restoreFromSnapshot()
      let oracle = SlowWorkspace(host.made + away.made).state()
      for device in [host, away, restarted] {
        let message = try device.workspace.message(id)
        #expect(message.status == status && message.content == content, sourceLocation: location)
        #expect(message.lateVersions.map(\.text) == late, sourceLocation: location)
        #expect(message.versions.map(\.text) == versions, sourceLocation: location)
        #expect(message.isMerged == !versions.isEmpty, sourceLocation: location)
        #expect(oracle.differences(from: device.workspace) == [], sourceLocation: location)
        try device.workspace.checkInvariants()
      }
    }
  }

  @Test(arguments: [nil, "Deploy it now"], [RunPhase.running, .succeeded])
  func anEditThatComesTooLateIsKeptBesideWhatRan(saved: String?, phase: RunPhase) throws {
    var pair = try Pair(saved: saved)
    try pair.report(.dispatched)
    try pair.report(phase)
    try pair.away.perform(.edit(Self.id, content: "Do not deploy", base: nil))
    let time = pair.away.now
    try pair.meet()
    let status: MessageStatus = phase == .running ? .running : .succeeded
    try pair.expect(status, saved ?? "Deploy it", late: ["Do not deploy"])
    let late = try pair.host.workspace.message(Self.id).lateVersions
    #expect(late.map(\.device) == ["device 2"] && late.map(\.savedAt) == [time])
    // An even later text is kept beside it, and the text that ran stays.
    try pair.away.merge(pair.host.made)
    var third = TestDevice(3, now: time)
    try third.merge(pair.start)
    try third.perform(.edit(Self.id, content: "Deploy on Monday", base: nil))
    pair.away.now = third.now
    let before = pair.host.workspace
    try pair.host.merge(third.made)
    let again = RanText.changed(
      from: before, to: pair.host.workspace, among: RanText.retyped(by: third.made, in: before),
      on: DeviceID(high: 0xD, low: 1))
    #expect(again == [])
    let message = try pair.host.workspace.message(Self.id)
    #expect(message.content == saved ?? "Deploy it")
    #expect(Set(message.lateVersions.map(\.text)) == ["Do not deploy", "Deploy on Monday"])
  }

  /// The text was granted, and changed before the agent began.
  @Test(arguments: [nil, "Deploy it now"] as [String?])
  func anEditBetweenGrantAndStartComesTooLate(saved: String?) throws {
    var pair = try Pair(saved: saved)
    let text = saved ?? "Deploy it"
    try pair.host.perform(.edit(Self.id, content: "Do not deploy", base: nil))
    _ = try pair.host.author { workspace, context throws(QueueError) in
      var context = context
      context.ranText = text
      let run = Run(token: 1, attempt: 1, phase: .dispatched, milliseconds: context.time)
      return try workspace.perform(.reportRun(Self.id, run), in: context)
    }
    try pair.away.merge(pair.host.made)
    try pair.host.merge(pair.away.made)
    try pair.expect(.running, text, late: ["Do not deploy"])
    try pair.report(.failed)
    try pair.host.perform(.retry(Self.id))
    let again = try pair.host.workspace.message(Self.id)
    #expect(Set(again.versions.map(\.text)) == [text, "Do not deploy"])
  }

  /// The other device has recorded, with a restored server, that the attempt was given up. Its state
  /// comes as a snapshot, and the host's report of success replaces that.
  @Test func anEditOfAGivenUpAttemptInASnapshotComesTooLate() throws {
    var pair = try Pair()
    try pair.report(.running)
    try pair.away.merge(pair.host.made)
    pair.away.now = pair.host.now + 1_000
    let unknown = Run(token: 1, attempt: 1, phase: .unknown, milliseconds: pair.away.now)
    try pair.away.perform(.reportRun(Self.id, unknown))
    try pair.away.perform(.retry(Self.id))
    try pair.away.perform(.edit(Self.id, content: "Do not deploy it", base: nil))
    try pair.report(.succeeded)
    let host = DeviceID(high: 0xD, low: 1)
    let texts = RanText.changed(
      from: pair.host.workspace, to: pair.away.workspace.image(),
      among: RanText.started(on: host, in: pair.host.workspace), on: host)
    #expect(texts.count == 1)
    _ = try pair.host.author { workspace, context throws(QueueError) in
      try RanText.keep(texts, in: &workspace, context)
    }
    try pair.meet(keeping: false)
    try pair.expect(.succeeded, "Deploy it", late: ["Do not deploy it"])
  }

  /// An agent that was given up, and whose message was edited, still finishes.
  @Test func anAgentThatWasGivenUpIsDone() throws {
    var pair = try Pair()
    try pair.report(.running)
    try pair.report(.unknown)
    try pair.host.perform(.edit(Self.id, content: "Do not deploy", base: nil))
    _ = try pair.host.author { workspace, context throws(QueueError) in
      var context = context
      context.ranText = "Deploy it"
      let run = Run(token: 1, attempt: 1, phase: .succeeded, milliseconds: context.time)
      return try workspace.perform(.reportRun(Self.id, run), in: context)
    }
    try pair.away.merge(pair.host.made)
    try pair.host.merge(pair.away.made)
    try pair.expect(.succeeded, "Deploy it", late: ["Do not deploy"])
  }

  /// Text that was typed while the agent started is kept, too.
  @Test(arguments: [true, false])
  func textTypedTooLateIsKept(isConnected: Bool) throws {
    var pair = try Pair(saved: "Deploy it")
    pair.away.connection = isConnected ? 1 : nil
    try pair.away.perform(.insertText(Self.id, at: 9, text: " n"))
    let early = pair.away.made
    if isConnected { try pair.host.merge(early) }
    try pair.report(.dispatched)
    let ran = try pair.host.workspace.message(Self.id).content
    try pair.away.perform(.insertText(Self.id, at: 11, text: "ow"))
    if isConnected { try pair.meet() }
    try pair.away.endTyping()
    try pair.meet()
    try pair.report(.succeeded)
    try pair.away.merge(pair.host.made)
    try pair.expect(.succeeded, ran, late: ["Deploy it now"])
  }

  /// A failed message is tried again once a user has checked the late text.
  @Test func aFailedAttemptWaitsForALook() throws {
    for runsMerged in [true, false] {
      var pair = try Pair()
      if runsMerged { try pair.host.perform(.setOnMerge(.named("s"), .run)) }
      try pair.report(.dispatched)
      try pair.away.perform(.edit(Self.id, content: "Do not deploy", base: nil))
      try pair.meet()
      try pair.report(.failed)
      try pair.host.perform(.retry(Self.id))
      try pair.away.merge(pair.host.made)
      let merged = try pair.host.workspace.message(Self.id).content
      let versions = try pair.host.workspace.message(Self.id).versions.compactMap(\.text)
      #expect(Set(versions) == ["Deploy it", "Do not deploy"])
      if runsMerged {
        // The next attempt gets the merged text, as its session requires, and that text counts as
        // what ran.
        try pair.report(.dispatched, attempt: 2)
        try pair.away.merge(pair.host.made)
        try pair.expect(.running, merged, late: [])
      } else {
        #expect(pair.host.workspace.startable(in: .named("s")) == nil)
        try pair.away.perform(.edit(Self.id, content: "Do not deploy", base: nil))
        try pair.meet()
        try pair.report(.dispatched, attempt: 2)
        try pair.away.merge(pair.host.made)
        try pair.expect(.running, "Do not deploy", late: [])
      }
    }
  }

  /// If the host never comes back, the late text can still be read.
  @Test func withoutTheHostTheLateTextIsThere() throws {
    var pair = try Pair()
    try pair.report(.dispatched)
    try pair.away.perform(.edit(Self.id, content: "Run the tests", base: nil))
    let letters = try pair.away.workspace.message(Self.id).content
    try pair.meet(keeping: false)
    #expect(letters == "Run the tests")
    // Then only the letters exist.
    try pair.expect(.running, letters, late: [])
    var other = TestDevice(3, now: pair.host.now)
    try other.merge(pair.start)
    try other.perform(.edit(Self.id, content: "Delete the cache", base: nil))
    try pair.away.merge(other.made)
    let late = try pair.away.workspace.message(Self.id).lateVersions.map(\.text)
    #expect(Set(late) == ["Run the tests", "Delete the cache"])
  }

  /// Two devices saved one text, which runs; a third text is too late.
  @Test func oneTextOfTwoDevicesRunsAsThatText() throws {
    for isLate in [false, true] {
      var pair = try Pair()
      var third = TestDevice(3, now: pair.host.now)
      try third.merge(pair.host.made)
      try pair.host.perform(.edit(Self.id, content: "Run the tests", base: nil))
      try third.perform(.edit(Self.id, content: "Run the tests", base: nil))
      try pair.host.merge(third.made)
      #expect(try pair.host.workspace.message(Self.id).content == "Run the tests")
      try pair.report(.dispatched)
      if isLate {
        try pair.away.perform(.edit(Self.id, content: "Do not deploy", base: nil))
        try pair.meet()
      }
      let message = try pair.host.workspace.message(Self.id)
      #expect(message.content == "Run the tests")
      #expect(message.lateVersions.map(\.text) == (isLate ? ["Do not deploy"] : []))
      #expect(
        SlowWorkspace(pair.host.made + third.made + (isLate ? pair.away.made : [])).state()
          .differences(from: pair.host.workspace) == [])
      try pair.report(.failed)
      try pair.host.perform(.retry(Self.id))
      let again = try pair.host.workspace.message(Self.id)
      #expect(again.isMerged == isLate && (isLate || again.content == "Run the tests"))
    }
  }

  /// It blocks nothing, notifies no user, and is forgotten with its message.
  @Test func aLateTextIsForgottenWithItsMessage() throws {
    var pair = try Pair()
    try pair.host.perform(.send("Then this", as: 2, in: "s"))
    try pair.report(.dispatched)
    try pair.report(.succeeded)
    try pair.away.perform(.edit(Self.id, content: "Do not deploy", base: nil))
    let count = pair.host.workspace.history(of: pair.host.made).count
    try pair.meet()
    #expect(pair.host.workspace.history(of: pair.host.made).count == count)
    #expect(pair.host.workspace.startable(in: .named("s"))?.message == .numbered(2))
    _ = try pair.host.author { workspace, context throws(QueueError) in
      try workspace.forget([Self.id], in: context)
    }
    try pair.away.merge(pair.host.made)
    try pair.expect(.succeeded, "", late: [])
  }
}
