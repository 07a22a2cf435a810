import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// What follows if an attempt ended with an unknown outcome: a user decides, or the settings do
/// (S0-66).
struct UnknownPolicyTests {
  private static let policies = UnknownPolicy.allCases
  private static let otherDevice = DeviceID(high: 0xD, low: 2)

  /// The state of a message with an unknown outcome, if nothing begins.
  private func status(after policy: UnknownPolicy) -> MessageStatus {
    switch policy {
    case .ask: .interrupted
    case .skip: .skipped
    case .retry: .queued
    }
  }

  @Test(arguments: policies)
  func itHoldsWhereAnAgentDies(_ policy: UnknownPolicy) throws {
    var host = try LocalHost.serving(2, onUnknown: policy)
    host.end(1, .died("signal 9"))
    // An agent that died at once might die again, so the next attempt waits a little.
    if policy != .skip { #expect(host.begun == [[1, 1]]) }
    host.pass(milliseconds: 2_000)
    switch policy {
    case .ask: #expect(host.begun == [[1, 1]])
    case .skip: #expect(host.begun == [[1, 1], [2, 1]])
    case .retry: #expect(host.begun == [[1, 1], [1, 2]])
    }
    if policy != .retry { #expect(host.status(1) == status(after: policy)) }
    #expect(host.core.executionCounts.unknown == 0)
  }

  /// The next program starts it.
  @Test(arguments: policies)
  func itHoldsWhereAProgramStops(_ policy: UnknownPolicy) throws {
    var host = try LocalHost.serving(1, onUnknown: policy)
    host.tell { $0.drainRequested(at: $1, store: $2) }
    host.tell { $0.drainGraceEnded(at: $1, store: $2) }
    host.end(1, .died("signal 15"))
    #expect(host.orders.contains(.drained))
    #expect(host.begun == [[1, 1]])
    #expect(host.status(1) == status(after: policy))
    var next = try host.restarted()
    next.begin(onUnknown: policy)
    #expect(next.begun == (policy == .retry ? [[1, 2]] : []))
  }

  /// A message that an agent never got, or refused to begin, needs no decision, whatever the reason
  /// of the stop.
  @Test(arguments: [
    TurnResult.notStarted("no such command"), .tryAfter(1_000, reason: "rate limit"),
    .tryLater(0, reason: "rate limit"),
  ])
  func attemptsThatNeverBeganAreTriedAgain(_ result: TurnResult) throws {
    var host = try LocalHost.serving(1)
    host.tell { $0.drainRequested(at: $1, store: $2) }
    host.tell { $0.drainGraceEnded(at: $1, store: $2) }
    host.end(1, result)
    #expect(host.status(1) == .queued)
  }

  @Test func aStoppedMessageIsNotTriedAgain() throws {
    var host = try LocalHost.serving(1, onUnknown: .retry)
    host.tell { $0.agentStopRequested(.named("s"), at: $1, store: $2) ?? [] }
    host.tell { $0.agentStopRequested(.named("s"), at: $1, store: $2) ?? [] }
    host.end(1, .died("signal 15"))
    #expect(host.status(1) == .cancelled)
    #expect(host.orders.filter { $0 == .stop(host.session, attempt: 1) }.count == 1)
  }

  /// A new host gets nothing before the turn has ended, so the turn continues.
  @Test func anotherHostInTheRegisterEndsNoTurn() throws {
    var host = try LocalHost.serving(2, onUnknown: .retry)
    try host.perform(.setHost(host.session, UnknownPolicyTests.otherDevice))
    host.pass(milliseconds: 120_000)
    #expect(!host.orders.contains(.stop(host.session, attempt: 1)))
    host.end(1, .succeeded(summary: ""))
    #expect(host.status(1) == .succeeded && host.begun == [[1, 1]])
  }

  // MARK: - Agents of users

  private func feeding(_ policy: UnknownPolicy) throws -> LocalHost {
    var host = try LocalHost.serving(2, onUnknown: policy) { $0.isGated = true }
    host.tell { $0.sessionGateChanged(.named("s"), isOpen: true, at: $1, store: $2) }
    #expect(host.begun == [[1, 1]])
    return host
  }

  /// Such an agent may continue with the prompt, or finds it when the agent is resumed.
  @Test(arguments: policies)
  func aPersonDecidesWhereTheAgentIsTheirs(_ policy: UnknownPolicy) throws {
    var host = try feeding(policy)
    host.end(1, .died("its process is gone"))
    host.pass(milliseconds: 60_000)
    #expect(host.begun == [[1, 1]])
    #expect(host.status(1) == .interrupted)
  }

  @Test(arguments: policies)
  func aPersonDecidesWhereTheAgentWasTheirs(_ policy: UnknownPolicy) throws {
    var host = try feeding(policy)
    var settings = ExecutionSettings()
    settings.onUnknown = policy
    host.tell { $0.executionSettingsChanged(settings, at: $1, store: $2) }
    host.end(1, .died("it goes on at its person's prompt"))
    host.pass(milliseconds: 60_000)
    #expect(host.begun == [[1, 1]])
    #expect(host.status(1) == .interrupted)
  }

  @Test(arguments: policies)
  func aPersonDecidesAfterACrashWhereTheAgentIsTheirs(
    _ policy: UnknownPolicy
  ) throws {
    var host = try feeding(policy).restarted()
    host.begin(onUnknown: policy) { $0.isGated = true }
    host.tell { $0.sessionGateChanged(.named("s"), isOpen: true, at: $1, store: $2) }
    #expect(host.begun == [])
    #expect(host.status(1) == .unknown)
    #expect(host.core.executionCounts.unknown == 1)
  }

  // MARK: - Limits

  private func dies(_ host: inout LocalHost, attempts: ClosedRange<UInt16>) {
    for attempt in attempts {
      host.end(1, attempt: attempt, .died("signal 9"))
      host.pass(milliseconds: 11_000)
    }
  }

  @Test func aPersonDecidesAfterTheThirdAttempt() throws {
    var host = try LocalHost.serving(1, onUnknown: .retry)
    dies(&host, attempts: 1...3)
    #expect(host.begun == [[1, 1], [1, 2], [1, 3]])
    #expect(host.status(1) == .interrupted)
    // A retry by a user allows the same number of attempts again.
    try host.perform(.retry(.numbered(1)))
    dies(&host, attempts: 4...6)
    #expect(host.begun.count == 6)
    #expect(host.status(1) == .interrupted)
  }

  @Test func attemptsThatEndedWithAWordDoNotCount() throws {
    var host = try LocalHost.serving(1, onUnknown: .retry)
    dies(&host, attempts: 1...2)
    host.end(1, attempt: 3, .tryAfter(1_000, reason: "rate limit"))
    host.pass(milliseconds: 2_000)
    dies(&host, attempts: 4...6)
    #expect(host.begun.count == 6)
    #expect(host.status(1) == .interrupted)
  }

  /// The ends of the earlier attempts are no longer known.
  @Test func afterACrashAllEarlierAttemptsCount() throws {
    var host = try LocalHost.serving(1, onUnknown: .retry)
    for attempt in 1...3 as ClosedRange<UInt64> {
      #expect(host.begun == [[1, attempt]])
      host = try host.restarted()
      host.begin(onUnknown: .retry)
    }
    #expect(host.begun == [])
    #expect(host.status(1) == .unknown)
  }

  // MARK: - One transaction

  /// The program dies, or the disk is full, between any two transactions: a message that needs no
  /// decision does not wait for one.
  @Test(
    arguments: [
      TurnResult.died("signal 9"), .failed("no"), .notStarted("no such command"),
      .tryAfter(1_000, reason: "rate limit"), .tryLater(0, reason: "rate limit"),
    ], 0...3)
  func aReportIsStoredWithWhatFollows(_ result: TurnResult, commits: Int) throws {
    var host = try LocalHost.serving(1, onUnknown: .skip) { $0.skipsFailed = true }
    host.store.commitsLeft = commits
    host.end(1, result)
    var next = try host.restarted()
    next.begin { $0.isEnabled = false }
    let status = next.status(1)
    let isDecided = status == .queued || status == .skipped
    #expect(commits == 0 ? status == .unknown : isDecided || status == .unknown, "\(status as Any)")
  }

  @Test func aReportThatWaitsForSpaceTakesTheDecisionAlong() throws {
    var host = try LocalHost.serving(1, onUnknown: .retry)
    host.store.commitsLeft = 0
    host.end(1, .died("signal 9"))
    #expect(host.store.intents.count == 1)
    host.store.commitsLeft = nil
    host.pass(milliseconds: 12_000)
    #expect(host.begun == [[1, 1], [1, 2]])
  }
}
