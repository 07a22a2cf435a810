import ClientCore
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

/// After a stop, the agent is allowed nothing more.
struct StoppedRequestTests {
  private static let session = SessionID.named("s")
  private static let request = RequestID(high: 1, low: 1)
  private static let host = 0
  private static let other = 1

  /// Device 0 works on message 1, and its agent wants an approval; device 1 looks on.
  private static func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    fleet.follows = true
    for index in fleet.devices.indices {
      fleet.note(index) { core, context, _ in
        core.answersLoaded([], at: context)
        return []
      }
    }
    try fleet.start()
    try fleet.perform(.addSession(session, name: nil, project: nil), on: other)
    try fleet.perform(.setHost(session, fleet.devices[host].id), on: other)
    try fleet.perform(.send("text", as: 1, in: "s"), on: other)
    try fleet.settle()
    try begin(in: &fleet)
    fleet.note(host) { $0.taskHeard(.began, in: session, at: $1, store: $2) }
    try raise(request, in: &fleet)
    #expect(fleet.devices[other].core.replica.workspace.task(of: session)?.awaits(request) == true)
    return fleet
  }

  private static func begin(in fleet: inout Fleet) throws {
    fleet.note(host) { core, context, store in
      core.executionStarted(
        ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
        store: store)
    }
    try fleet.settle()
  }

  private static func raise(_ id: RequestID, in fleet: inout Fleet) throws {
    let ask = Ask(
      session: session, id: id, matter: .approval(toolName: "Bash", summary: "make", details: nil),
      patienceMilliseconds: 60_000)
    try fleet.note(host) { try $0.askRaised(ask, at: $1, store: $2) }
    try fleet.settle()
  }

  private static func stop(in fleet: inout Fleet) throws {
    let attempt = AttemptName(message: .numbered(1), number: 1)
    try fleet.note(other) { try $0.questionAsked(.stop(attempt), id: 7, at: $1, store: $2) ?? [] }
    try fleet.settle()
  }

  private static func allow(in fleet: inout Fleet) throws -> AnswerEnding? {
    let answer = AnswerRequest(session: session, request: request, verdict: .allowed, text: "")
    var ending: AnswerEnding?
    try fleet.note(other) { core, context, store in
      let result = try core.answerGiven(answer, at: context, store: store)
      ending = result.ending
      return result.actions
    }
    try fleet.settle()
    return ending ?? fleet.devices[other].endings.last?.ending
  }

  @Test func aStoppedAgentIsAllowedNothingMore() throws {
    var fleet = try Self.fleet()
    try Self.stop(in: &fleet)
    #expect(
      fleet.devices[Self.other].authorityAnswers
        == [.stopping(on: fleet.devices[Self.host].id, awaySince: nil)])
    #expect(fleet.devices[Self.host].decisions.map(\.decision.ending) == [.withdrawn])
    let workspace = fleet.devices[Self.other].core.replica.workspace
    #expect(workspace.task(of: Self.session)?.requests == [])
    #expect(try Self.allow(in: &fleet) == .notAwaited)
    // Nor is what it asks afterwards shown to anybody.
    try Self.raise(RequestID(high: 1, low: 2), in: &fleet)
    #expect(
      fleet.devices[Self.host].decisions.map(\.decision.ending) == [.withdrawn, .withdrawn])
  }

  /// The server knows of the stop before the host does, and refuses a user who allows the request.
  @Test func approvalsAreRefusedWhileTheHostIsAway() throws {
    var fleet = try Self.fleet()
    fleet.losses[Self.host] = .sent
    fleet.cut(Self.host)
    try Self.stop(in: &fleet)
    #expect(try Self.allow(in: &fleet) == .notAwaited)
    fleet.losses[Self.host] = nil
    fleet.cut(Self.host)
    try fleet.pass(10_000)
    #expect(fleet.devices[Self.host].decisions.map(\.decision.ending) == [.withdrawn])
  }

  /// The host stops its agent as soon as the queues say so, not with the next renewal of its lease.
  @Test func theHostStopsWithTheQueues() throws {
    var fleet = try Self.fleet()
    var orders: [AgentOrder] = []
    let attempt = AttemptName(message: .numbered(1), number: 1)
    fleet.note(Self.host) { core, context, store in
      let withdrawal = try? core.commandGiven(
        .stopAttempt(attempt.message, attempt: attempt.number), at: context, store: store)
      let done = withdrawal?.actions ?? []
      let following = core.executionFollowing(done, at: context, store: store)
      orders = following.compactMap { if case .agent(let order) = $0 { order } else { nil } }
      return done + following
    }
    #expect(orders == [.stop(Self.session, attempt: 1)])
  }

  /// A stopped turn is no failure if the host's program ends before its stopped agent does.
  @Test func aStopThatMeetsTheEndOfTheProgramIsNotAFailure() throws {
    var fleet = try Self.fleet()
    try Self.stop(in: &fleet)
    try fleet.restart(Self.host)
    try Self.begin(in: &fleet)
    try fleet.pass(1_000)
    for device in fleet.devices {
      let task = device.core.replica.workspace.task(of: Self.session)
      #expect(task?.status == .completed(.cancelled))
    }
  }
}
