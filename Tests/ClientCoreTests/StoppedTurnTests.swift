import ClientCore
import DispatchAuthority
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// A user stops an attempt, and its host dies before it receives the stop: the message is not tried
/// again.
struct StoppedTurnTests {
  private static let session = SessionID.named("s")
  private static let host = 0
  private static let other = 1

  /// Device 0 works on message 1 of two; device 1 watches.
  private static func fleet(_ policy: UnknownPolicy) throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    fleet.follows = true
    try fleet.start()
    try fleet.perform(.addSession(session, name: nil, project: nil), on: other)
    try fleet.perform(.setHost(session, fleet.devices[host].id), on: other)
    for number in 1...2 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "s"), on: other)
    }
    try fleet.settle()
    try begin(in: &fleet, policy)
    #expect(fleet.devices[other].core.replica.workspace.status(1) == .running)
    return fleet
  }

  private static func begin(
    in fleet: inout Fleet, _ policy: UnknownPolicy, dead: Set<MessageID> = []
  ) throws {
    var settings = ExecutionSettings()
    settings.onUnknown = policy
    fleet.note(host) { core, context, store in
      core.executionStarted(
        settings, loaded: store.loaded.execution, deadAgents: dead, at: context, store: store)
    }
    try fleet.settle()
  }

  private static func stop(in fleet: inout Fleet, on device: Int = other) throws {
    let attempt = AttemptName(message: .numbered(1), number: 1)
    try fleet.note(device) {
      try $0.questionAsked(.stop(attempt), id: 7, at: $1, store: $2) ?? []
    }
    try fleet.settle()
  }

  /// From now on, nothing reaches the host or leaves it.
  private static func depart(in fleet: inout Fleet) {
    fleet.losses[host] = .sent
    fleet.cut(host)
  }

  private static func comeBack(in fleet: inout Fleet) {
    fleet.losses[host] = nil
    fleet.cut(host)
  }

  private static func expectNoSecondAttempt(
    in fleet: inout Fleet, _ status: MessageStatus = .cancelled
  ) throws {
    for _ in 0..<30 {
      try fleet.pass(10_000)
      let running = fleet.devices[host].core.running[session]
      #expect(running?.message != .numbered(1))
    }
    for index in [host, other] {
      let message = try fleet.devices[index].core.replica.workspace.message(.numbered(1))
      #expect(message.status == status && message.run?.attempt == 1)
    }
    #expect(fleet.devices[host].core.running[session]?.message == .numbered(2))
    try fleet.expectConvergence()
  }

  @Test(arguments: UnknownPolicy.allCases, [true, false])
  func aStopOutlivesTheHostsProgram(_ policy: UnknownPolicy, agentIsDead: Bool) throws {
    var fleet = try StoppedTurnTests.fleet(policy)
    StoppedTurnTests.depart(in: &fleet)
    try StoppedTurnTests.stop(in: &fleet)
    let host = fleet.devices[0].id
    #expect(fleet.devices[1].authorityAnswers == [.stopping(on: host, awaySince: nil)])
    fleet.server.restartAuthority()
    try fleet.restart(0)
    try StoppedTurnTests.begin(in: &fleet, policy, dead: agentIsDead ? [.numbered(1)] : [])
    StoppedTurnTests.comeBack(in: &fleet)
    try StoppedTurnTests.expectNoSecondAttempt(
      in: &fleet, policy == .skip ? .skipped : .cancelled)
  }

  /// Its program ends normally, or the agent waits for the end of a limit; the host does not know
  /// of the stop.
  @Test(arguments: [TurnResult.died("signal 15"), .tryAfter(10_000, reason: "limit")])
  func aStopOutlivesAnEndThatItsHostWroteBefore(_ result: TurnResult) throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    StoppedTurnTests.depart(in: &fleet)
    fleet.note(0) {
      $0.agentEnded(StoppedTurnTests.session, attempt: 1, with: result, at: $1, store: $2)
    }
    try fleet.settle()
    try StoppedTurnTests.stop(in: &fleet)
    #expect(fleet.devices[1].authorityAnswers.count == 1)
    StoppedTurnTests.comeBack(in: &fleet)
    try StoppedTurnTests.expectNoSecondAttempt(in: &fleet)
  }

  /// A user who stops it at its host is not asked again, either.
  @Test func aStopAtTheHostOutlivesItsProgram() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    fleet.note(0) {
      $0.agentStopRequested(StoppedTurnTests.session, at: $1, store: $2) ?? []
    }
    try fleet.restart(0)
    try StoppedTurnTests.begin(in: &fleet, .retry)
    try StoppedTurnTests.expectNoSecondAttempt(in: &fleet)
  }

  @Test func aSuccessBeforeTheStopStays() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    StoppedTurnTests.depart(in: &fleet)
    fleet.note(0) {
      $0.agentEnded(
        StoppedTurnTests.session, attempt: 1, with: .succeeded(summary: "done"), at: $1, store: $2)
    }
    try fleet.settle()
    try StoppedTurnTests.stop(in: &fleet)
    StoppedTurnTests.comeBack(in: &fleet)
    try fleet.pass(60_000)
    #expect(fleet.devices[1].core.replica.workspace.status(1) == .succeeded)
  }

  /// A restore counts as the decision, so it is tried again.
  @Test func restoredMessagesAreTriedAgain() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    StoppedTurnTests.depart(in: &fleet)
    try StoppedTurnTests.stop(in: &fleet)
    try fleet.restart(0)
    try StoppedTurnTests.begin(in: &fleet, .retry)
    StoppedTurnTests.comeBack(in: &fleet)
    try fleet.pass(10_000)
    let running = fleet.devices[0].core.running[StoppedTurnTests.session]
    #expect(running?.message == .numbered(2))
    try fleet.perform(.restore(.numbered(1)), on: 1)
    if fleet.devices[1].core.replica.workspace.status(1) != .queued {
      try fleet.perform(.retry(.numbered(1)), on: 1)
    }
    try fleet.settle()
    fleet.note(0) {
      $0.agentEnded(
        StoppedTurnTests.session, attempt: 1, with: .succeeded(summary: ""), at: $1, store: $2)
    }
    try fleet.pass(60_000)
    let again = fleet.devices[0].core.running[StoppedTurnTests.session]
    #expect(again?.message == .numbered(1) && again?.attempt == 2)
  }

  /// The server does not have the withdrawal yet: no device learns of the stop.
  @Test func aStopIsNotConfirmedBeforeTheServerHasIt() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    fleet.server.refusals = [
      Refusal(code: .storageFailed, message: "full", retryAfterMilliseconds: 1_000)
    ]
    try StoppedTurnTests.stop(in: &fleet)
    #expect(fleet.devices[1].authorityAnswers == [])
    try fleet.pass(2_000)
    #expect(
      fleet.devices[1].authorityAnswers == [.stopping(on: fleet.devices[0].id, awaySince: nil)])
  }

  /// Without the server's confirmation, nothing is reported and nothing changes.
  @Test func aStopWithoutAConnectionChangesNothing() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    fleet.isServerDown = true
    fleet.cut(1)
    try fleet.settle()
    try StoppedTurnTests.stop(in: &fleet)
    let message = try fleet.devices[1].core.replica.workspace.message(.numbered(1))
    #expect(message.status == .running && message.withdrawal == nil)
    #expect(fleet.devices[1].core.replica.record.outbox.isEmpty)
  }

  /// A stop that cannot be stored is reported as that, and nothing is asked.
  @Test func aStopOnAFullDiskSaysSo() throws {
    var fleet = try StoppedTurnTests.fleet(.retry)
    let full = StoreError(code: .full, message: "full")
    fleet.devices[1].store.failure = full
    #expect(throws: Replica.Fault.store(full)) { try StoppedTurnTests.stop(in: &fleet) }
    fleet.devices[1].store.failure = nil
    try fleet.settle()
    #expect(fleet.devices[1].authorityAnswers == [])
    #expect(fleet.devices[1].core.replica.workspace.status(1) == .running)
  }

  /// Every device shows the pending stop while the host is offline.
  @Test func everybodySeesThatItIsToStop() throws {
    var fleet = try StoppedTurnTests.fleet(.ask)
    let third = try fleet.addDevice()
    try fleet.start(third)
    StoppedTurnTests.depart(in: &fleet)
    try StoppedTurnTests.stop(in: &fleet)
    for index in [1, third] {
      let message = try fleet.devices[index].core.replica.workspace.message(.numbered(1))
      #expect(message.status == .running && message.withdrawal == .stopped)
    }
  }
}
