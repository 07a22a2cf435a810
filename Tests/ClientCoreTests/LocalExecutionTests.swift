import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The core carries out the executor's orders; without a server, it is its own authority.
struct LocalExecutionTests {
  @Test func aMessageBeginsInTheTurnOfItsSend() throws {
    var scene = try LocalHost.serving(2)
    #expect(scene.begun == [[1, 1]])
    #expect(scene.store.intents.keys.map(\.low) == [1])
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.begun == [[1, 1], [2, 1]])
    #expect(scene.store.intents.keys.map(\.low) == [2])
    #expect(scene.status(1) == .succeeded)
  }

  /// A busy host: agents of other sessions still end while the disk is full for a moment.
  @Test func unstoredDecisionsAreTriedAgainHoweverManyEndsFollow() throws {
    var scene = try LocalHost.serving(1)
    for number in UInt64(10)..<16 {
      let session = SessionID.named("s\(number)")
      try scene.perform(.send("text", as: number, in: session.rawValue))
      try scene.perform(.setHost(session, LocalHost.device))
    }
    #expect(scene.begun.count == 7)
    scene.store.failure = StoreError(code: .full, message: "full")
    scene.end(1, .succeeded(summary: ""))
    scene.store.failure = nil
    for number in UInt64(10)..<14 {
      scene.pass(milliseconds: 3_000)
      scene.tell {
        $0.agentEnded(
          .named("s\(number)"), attempt: 1, with: .succeeded(summary: ""), at: $1, store: $2)
      }
    }
    #expect(scene.status(1) == .succeeded)
  }

  /// The disk is full while the end of an attempt is detected twice. The second report, stored
  /// after the start of the next attempt, keeps that attempt's intent.
  @Test func theLateEndOfAnAttemptLeavesTheIntentOfTheNext() throws {
    let first = try LocalHost.serving(1, onUnknown: .retry)
    #expect(first.begun == [[1, 1]])
    var scene = try first.restarted()
    scene.store.failure = StoreError(code: .full, message: "full")
    scene.begin(onUnknown: .retry)
    scene.pass(milliseconds: 4_000)
    scene.store.failure = nil
    scene.pass(milliseconds: 10_000)
    #expect(scene.begun == [[1, 2]])
    #expect(scene.store.intents.values.map(\.attempt) == [2])
  }

  /// A setting that a user at the device makes is stored together with its operations, and is kept
  /// after a restart.
  @Test func consentIsStoredWithTheHost() throws {
    var scene = try LocalHost()
    scene.begin { $0.needsConsent = true }
    try scene.perform(.send("text", as: 1, in: "s"))
    try scene.perform(.setHost(scene.session, LocalHost.device))
    #expect(scene.begun == [])
    scene.store.failure = StoreError(code: .full, message: "full")
    #expect(throws: Replica.Fault.self) {
      try scene.choose(scene.session, host: LocalHost.device)
    }
    scene.store.failure = nil
    #expect(scene.begun == [] && scene.store.choices == SessionChoices())
    try scene.choose(scene.session, host: LocalHost.device)
    #expect(scene.begun == [[1, 1]])
    scene.end(1, .succeeded(summary: ""))
    var next = try scene.restarted()
    next.begin { $0.needsConsent = true }
    try next.perform(.send("text", as: 2, in: "s"))
    #expect(next.begun == [[2, 1]])
    next.end(2, .succeeded(summary: ""))
    try next.choose(scene.session, host: nil)
    try next.perform(.setHost(scene.session, LocalHost.device))
    try next.perform(.send("text", as: 3, in: "s"))
    next.pass(milliseconds: 1_000)
    #expect(next.begun == [[2, 1]])
  }

  /// An agent that a user sets for one session counts at once, and before agents run.
  @Test func anAgentOfItsOwnHoldsAtOnce() throws {
    var scene = try LocalHost()
    try scene.perform(.send("text", as: 1, in: "s"))
    try scene.perform(.setHost(scene.session, LocalHost.device))
    try scene.choose(scene.session, agent: .off)
    scene.begin()
    #expect(scene.begun == [])
    try scene.choose(scene.session, agent: .free)
    #expect(scene.begun == [[1, 1]])
  }

  /// Pairing drops the leases of the device's own authority and its questions; waiting messages are
  /// examined again.
  @Test func waitingMessagesAreCheckedUnderAnotherAuthority() throws {
    var scene = try LocalHost()
    scene.begin()
    scene.store.failsAtIntents = true
    try scene.perform(.send("text", as: 1, in: "s"))
    try scene.perform(.setHost(scene.session, LocalHost.device))
    #expect(scene.begun == [])
    scene.store.failsAtIntents = false
    let credentials = Credentials(
      server: "ws://model:1", workspace: ModelServer.workspaceID, workspaceName: "w",
      token: [UInt8](repeating: 1, count: 32))
    try scene.tell { try $0.paired(credentials, at: $1, store: $2) }
    #expect(scene.core.hasServer)
    let context = EventContext(
      now: scene.now, wall: TestDevice.startOfTime + scene.now, random: 1)
    #expect(throws: Never.self) { try scene.core.checkLiveness(at: context) }
  }

  // S0-66, C-10: retry, edit, skip and cancel let it continue; time does not.
  @Test func aFailureStopsTheQueueUntilItIsDecided() throws {
    var scene = try LocalHost.serving(3)
    scene.end(1, .failed("no"))
    scene.pass(milliseconds: 60_000)
    #expect(scene.begun == [[1, 1]])
    #expect(scene.status(1) == .failed && scene.core.replica.workspace.numbers("s") == [1, 2, 3])
    try scene.perform(.retry(.numbered(1)))
    #expect(scene.begun == [[1, 1], [1, 2]])
    scene.end(1, attempt: 2, .failed("no"))
    try scene.perform(.edit(.numbered(1), content: "better", base: nil))
    #expect(scene.begun == [[1, 1], [1, 2], [1, 3]])
    guard case .start(let third) = scene.orders.last else {
      Issue.record("\(scene.orders)")
      return
    }
    #expect(third.text == "better")
    scene.end(1, attempt: 3, .failed("no"))
    #expect(scene.begun.count == 3)
    try scene.perform(.skip(.numbered(1)))
    #expect(scene.begun.last == [2, 1])
    scene.end(2, .failed("no"))
    #expect(scene.begun.count == 4)
    try scene.perform(.cancel([.numbered(2)]))
    #expect(scene.begun.last == [3, 1] && scene.status(2) == .cancelled)
  }

  // C-11: an agent that cannot be started is tried three times. Each wait is twice the previous
  // one, and up to half of it is random.
  @Test func anAgentThatCannotBeStartedIsTriedThreeTimes() throws {
    var scene = try LocalHost.serving(1)
    for (attempt, wait) in [(1, 500...1_010), (2, 1_000...2_010)] as [(UInt16, ClosedRange<Int64>)]
    {
      scene.end(1, attempt: attempt, .notStarted("no such command"))
      let since = scene.now
      while scene.begun.count == attempt, scene.now < since + 60_000 {
        scene.tell { $0.timePassed(at: $1, store: $2) }
      }
      #expect(wait.contains(scene.now - since), "after attempt \(attempt): \(scene.now - since)")
    }
    #expect(scene.begun == [[1, 1], [1, 2], [1, 3]])
    scene.end(1, attempt: 3, .notStarted("no such command"))
    scene.pass(milliseconds: 60_000)
    #expect(scene.begun.count == 3 && scene.status(1) == .failed)
  }

  /// The lease of its new queue is older than the one under which it ran.
  @Test func aMessageMovedToAnotherQueueRunsAndEndsThere() throws {
    var scene = try LocalHost.serving(1)
    let other = SessionID.named("t")
    try scene.perform(.addSession(other, name: nil, project: nil))
    try scene.perform(.setHost(other, LocalHost.device))
    try scene.perform(.send("text 2", as: 2, in: "t"))
    #expect(scene.begun == [[1, 1], [2, 1]])
    scene.tell { $0.agentEnded(other, attempt: 1, with: .died("x"), at: $1, store: $2) }
    try scene.perform(.move([.numbered(2)], to: .after(.numbered(1))))
    try scene.perform(.retry(.numbered(2)))
    scene.end(1, .succeeded(summary: ""))
    // A new lease is requested after a moment.
    scene.now += 20_000
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(scene.begun == [[1, 1], [2, 1], [2, 2]])
    scene.end(2, attempt: 2, .succeeded(summary: ""))
    #expect(scene.status(2) == .succeeded)
    #expect(scene.store.intents.isEmpty)
  }

  // F3: a lid is closed for a while, or the disk has no room for a renewal.
  @Test(arguments: [22_000, 3 * 3_600_000] as [Int64])
  func aTurnOutlivesTheSleepOfADeviceThatIsItsOwnAuthority(asleep: Int64) throws {
    var scene = try LocalHost.serving(2)
    scene.now += asleep
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(scene.begun == [[1, 1]] && scene.status(1) == .running)
    scene.store.failure = StoreError(code: .full, message: "full")
    scene.pass(milliseconds: 60_000)
    scene.store.failure = nil
    scene.pass(milliseconds: 60_000)
    #expect(!scene.orders.contains(.stop(scene.session, attempt: 1)))
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.status(1) == .succeeded && scene.begun == [[1, 1], [2, 1]])
  }

  // C-13: of this thread's time; RESULTS.md has the disk's share.
  @Test func aCommandAndAnOpeningTakeLittle() throws {
    var scene = try LocalHost()
    for number in 1...UInt64(200) {
      try scene.perform(.send("text \(number)", as: number, in: "session \(number % 20)"))
    }
    var number = UInt64(200)
    let command = try ThreadTime.best(of: 5) {
      number += 1
      try scene.perform(.send("text", as: number, in: "session 0"))
    }
    let opening = try ThreadTime.best(of: 5) {
      let again = try scene.restarted()
      #expect(again.core.replica.workspace.numbers("session 0").count == 15)
    }
    print("a command takes \(command * 1_000) ms, an opening \(opening * 1_000) ms")
    #expect(command < 0.1 && opening < 0.5)
  }

  @Test(arguments: [true, false])
  func aKilledDaemonSaysWhatItKnows(agentDied: Bool) throws {
    let before = try LocalHost.serving(1)
    #expect(before.begun == [[1, 1]])
    var after = try LocalHost(store: before.store)
    after.begin(deadAgents: agentDied ? [.numbered(1)] : [])
    #expect(after.begun == [])
    #expect(after.status(1) == (agentDied ? .interrupted : .unknown))
    #expect(after.store.intents.isEmpty)
    try after.perform(.retry(.numbered(1)))
    #expect(after.begun == [[1, 2]])
  }

  @Test func unknownAttemptsCanBeRetriedAutomatically() throws {
    let before = try LocalHost.serving(1)
    var after = try LocalHost(store: before.store)
    after.begin(onUnknown: .retry)
    #expect(after.begun == [[1, 2]])
  }

  @Test func nothingBeginsThatCannotBeStored() throws {
    var scene = try LocalHost.serving(1)
    scene.end(1, .succeeded(summary: ""))
    try scene.perform(.pause(scene.session, reason: nil))
    try scene.perform(.send("text 2", as: 2, in: "s"))
    try scene.perform(.resume(scene.session))
    #expect(scene.begun.count == 2)
    scene.store.failure = StoreError(code: .full, message: "full")
    scene.end(2, .succeeded(summary: ""))
    #expect(scene.store.intents.keys.map(\.low) == [2])
    // When there is room again, the end is stored.
    scene.store.failure = nil
    scene.now += 6_000
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(scene.status(2) == .succeeded)
    #expect(scene.store.intents.isEmpty)
  }

  /// Whatever an agent gets is on the disk first, with everything that it depends on.
  @Test func anAgentStartsWhenTheDiskHasItsIntent() throws {
    var scene = try LocalHost.serving(0)
    scene.store.defers = true
    try scene.tell { core, context, store in
      let sent = try core.commandGiven(
        .send("text 1", as: 1, in: "s"), waitsForDisk: false, at: context, store: store)
      #expect(!store.isSynchronized)
      return sent.actions
    }
    #expect(scene.begun == [[1, 1]])
    #expect(scene.store.isSynchronized)
    #expect(scene.store.intents.keys.map(\.low) == [1])
  }

  @Test func anIntentThatTheDiskDoesNotTakeStartsNothing() throws {
    var scene = try LocalHost.serving(0)
    scene.store.failsAtIntents = true
    try scene.perform(.send("text 1", as: 1, in: "s"))
    #expect(scene.orders == [])
    #expect(scene.store.intents.isEmpty)
    #expect(scene.status(1) == .queued)
    scene.store.failsAtIntents = false
    scene.pass(milliseconds: 10_000)
    #expect(scene.begun == [[1, 1]])
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.status(1) == .succeeded)
  }

  /// A stop after a start whose process was never created.
  @Test func messagesStoppedBeforeTheirBeginningAreCancelled() throws {
    var scene = try LocalHost.serving(1)
    scene.tell { $0.agentStopRequested(.named("s"), at: $1, store: $2) ?? [] }
    #expect(scene.begun == [[1, 1]])
    #expect(scene.orders.last == .stop(scene.session, attempt: 1))
    scene.end(1, .notStarted("the agent was stopped"))
    #expect(scene.status(1) == .cancelled)
    #expect(scene.store.intents.isEmpty)
  }

  @Test func theAgentOfADeletedSessionIsStopped() throws {
    var scene = try LocalHost.serving(1)
    try scene.perform(.deleteSession(scene.session))
    #expect(scene.orders.last == .stop(scene.session, attempt: 1))
    let count = scene.orders.count
    scene.end(1, .failed("signal 15"))
    scene.pass(milliseconds: 60_000)
    #expect(scene.orders.count == count)
    let run = try scene.core.replica.workspace.message(.numbered(1)).run
    #expect(run?.phase == .cancelled)
    #expect(run?.note == "Its session was deleted.")
    #expect(scene.core.replica.workspace.session(scene.session) == nil)
  }

  @Test func drainingWaitsForTheAgentAndBeginsNothing() throws {
    var scene = try LocalHost.serving(2)
    scene.tell { $0.drainRequested(at: $1, store: $2) }
    #expect(!scene.orders.contains(.drained))
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.orders.contains(.drained))
    #expect(scene.begun == [[1, 1]])
    #expect(scene.status(2) == .queued)
  }

  /// The stop may come while it still looks for processes of an earlier one.
  @Test func nothingBeginsWhereDrainingWasAskedForBefore() throws {
    var before = try LocalHost.serving(2)
    before.tell { $0.drainRequested(at: $1, store: $2) }
    before.end(1, .succeeded(summary: ""))
    var after = try before.restarted()
    after.tell { $0.drainRequested(at: $1, store: $2) }
    after.begin(onUnknown: .retry)
    after.pass(milliseconds: 60_000)
    #expect(after.begun == [])
    #expect(after.orders.contains(.drained))
    #expect(after.status(2) == .queued)
  }

  @Test func remainsOfADyingProgramAreReportedEvenWhileDraining() throws {
    let before = try LocalHost.serving(2)
    var after = try before.restarted()
    after.tell { $0.drainRequested(at: $1, store: $2) }
    after.begin(onUnknown: .retry)
    #expect(after.begun == [])
    #expect(after.store.intents.isEmpty)
    #expect(after.status(1) == .queued)
    var last = try after.restarted()
    last.begin(onUnknown: .retry)
    #expect(last.begun == [[1, 2]])
  }

  @Test func theEndOfTheGraceStopsTheAgent() throws {
    var scene = try LocalHost.serving(1)
    scene.tell { $0.drainRequested(at: $1, store: $2) }
    scene.tell { $0.drainGraceEnded(at: $1, store: $2) }
    #expect(scene.orders.contains(.stop(scene.session, attempt: 1)))
    scene.end(1, .died("signal 15"))
    #expect(scene.orders.contains(.drained))
    #expect(scene.status(1) == .interrupted)
  }

  @Test func nothingBeginsWhileSomebodyWorksInTheSession() throws {
    var scene = try LocalHost.serving(1)
    scene.end(1, .succeeded(summary: ""))
    scene.tell { $0.sessionBusyChanged(.named("s"), isBusy: true, at: $1, store: $2) }
    try scene.perform(.send("text 2", as: 2, in: "s"))
    #expect(scene.begun.count == 1)
    scene.tell { $0.sessionBusyChanged(.named("s"), isBusy: false, at: $1, store: $2) }
    #expect(scene.begun == [[1, 1], [2, 1]])
  }
}
