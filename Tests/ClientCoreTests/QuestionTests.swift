import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A user withdraws a message and asks whether that was in time: the answer counts only if the
/// server has the withdrawal.
struct QuestionTests {
  private static let message = MessageID.numbered(1)

  /// A device with a waiting message that the server knows.
  private func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 1)
    fleet.follows = true
    try fleet.start()
    try fleet.perform(.addSession(.named("s"), name: nil, project: nil), on: 0)
    try fleet.perform(.send("text", as: 1, in: "s"), on: 0)
    try fleet.settle()
    return fleet
  }

  /// Withdraws the message and asks; neither has arrived.
  private func withdraw(in fleet: inout Fleet) throws -> StartRace {
    let race = StartRace(
      withdrawing: QuestionTests.message, in: fleet.devices[0].core.replica.workspace)
    try fleet.perform(.cancel([QuestionTests.message]), on: 0)
    var isAsked = false
    try fleet.note(0) { core, context, store in
      let actions = try core.questionAsked(
        .outcome(QuestionTests.message), id: 7, at: context, store: store)
      isAsked = actions != nil
      return actions ?? []
    }
    #expect(isAsked)
    return race
  }

  @Test func aWithdrawalThatTheServerTookWasInTime() throws {
    var fleet = try fleet()
    let race = try withdraw(in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[0].authorityAnswers.map(race.ending) == [.inTime])
  }

  /// The server refuses the withdrawal for now, and would answer without it.
  @Test func aWithdrawalThatTheServerRefusedIsAskedAboutAgain() throws {
    var fleet = try fleet()
    fleet.server.refusals = [
      Refusal(code: .storageFailed, message: "full", retryAfterMilliseconds: 1_000)
    ]
    let race = try withdraw(in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[0].authorityAnswers == [])
    try fleet.pass(5_000)
    #expect(fleet.devices[0].authorityAnswers.map(race.ending) == [.inTime])
    #expect(fleet.server.workspace.numbers("s") == [])
    #expect(fleet.devices[0].authorityAnswers.count == 1)
  }

  /// It stays unsent until the next connection, so the outcome is unknown.
  @Test func aWithdrawalThatTheServerDoesNotTakeIsUnconfirmed() throws {
    var fleet = try fleet()
    fleet.server.refusals = [Refusal(code: .limitReached, message: "", batch: 0)]
    let race = try withdraw(in: &fleet)
    try fleet.settle()
    #expect(fleet.devices[0].authorityAnswers == [])
    #expect(fleet.server.workspace.numbers("s") == [1])
    fleet.cut(0)
    try fleet.settle()
    #expect(fleet.devices[0].authorityAnswers.map(race.ending) == [.unconfirmed])
    try fleet.pass(60_000)
    #expect(fleet.server.workspace.numbers("s") == [])
    #expect(fleet.devices[0].authorityAnswers.count == 1)
  }

  /// I-61: the server accepts nothing new, so that no question is sent, and a host asks again.
  @Test func aQuestionThatIsAskedAgainWaitsOnce() throws {
    var fleet = try fleet()
    let session = SessionID.named("s")
    fleet.note(0) { core, context, store in
      core.executionStarted(
        ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
        store: store)
    }
    try fleet.settle()
    fleet.server.refusals = [Refusal(code: .limitReached, message: "", batch: 0)]
    try fleet.perform(.setHost(session, fleet.devices[0].id), on: 0)
    try fleet.settle()
    for _ in 0..<30 {
      try fleet.pass(10_000)
      try fleet.devices[0].core.checkInvariants()
    }
    #expect(fleet.devices[0].core.running.isEmpty)
    fleet.cut(0)
    try fleet.pass(60_000)
    #expect(fleet.devices[0].core.running[session] != nil)
  }

  /// The server grants a message while its host changes it: the host begins nothing that it would
  /// not have requested, and returns the attempt.
  @Test(arguments: [true, false])
  func aChangeAtTheHostIsInTimeWhereTheAttemptIsGivenBack(isEdit: Bool) throws {
    var fleet = try Fleet(devices: 1)
    fleet.follows = true
    try fleet.start()
    let session = SessionID.named("s")
    try fleet.perform(.addSession(session, name: nil, project: nil), on: 0)
    try fleet.perform(.setHost(session, fleet.devices[0].id), on: 0)
    try fleet.perform(.send("first", as: 1, in: "s"), on: 0)
    fleet.note(0) { core, context, store in
      core.executionStarted(
        ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
        store: store)
    }
    try fleet.settle()
    fleet.note(0) {
      $0.agentEnded(session, attempt: 1, with: .succeeded(summary: ""), at: $1, store: $2)
    }
    var asked: (request: AuthorityRequest, id: UInt64)?
    while let action = fleet.devices[0].actions.first {
      if case .send(_, .request(let request)) = action,
        let question = try AuthorityRequest(request), case .next = question
      {
        asked = (question, request.id)
      }
      try fleet.advance(1)
    }
    let standing = try #require(asked)
    try fleet.perform(.send("text", as: 2, in: "s"), on: 0)
    try fleet.settle()
    let device = fleet.devices[0].id
    let granted = try #require(
      fleet.server.authority.answer(
        standing.request, id: standing.id,
        from: fleet.server.holder(device),
        in: fleet.server.workspace, uptime: fleet.server.milliseconds,
        wall: fleet.server.milliseconds
      ).answer)
    guard case .granted = granted else {
      Issue.record("\(granted)")
      return
    }
    let before = fleet.devices[0].core.replica.workspace
    let message = MessageID.numbered(2)
    try fleet.perform(
      isEdit ? .edit(message, content: "other", base: nil) : .cancel([message]), on: 0)
    let race =
      isEdit
      ? StartRace(editing: message, from: before, to: fleet.devices[0].core.replica.workspace)
      : StartRace(withdrawing: message, in: before)
    try fleet.note(0) { core, context, store in
      try core.questionAsked(.outcome(message), id: 7, at: context, store: store) ?? []
    }
    fleet.deliver(.response(granted.response(id: standing.id)), to: 0)
    #expect(fleet.devices[0].core.running.isEmpty)
    try fleet.settle()
    #expect(fleet.devices[0].authorityAnswers.map(race.ending) == [.inTime])
    #expect(fleet.devices[0].core.running[session]?.text != "text")
  }

  @Test func anEditIsTooLateWhereAnotherTextWasGranted() throws {
    var workspace = try fleet().devices[0].core.replica.workspace
    let before = workspace
    _ = try workspace.perform(
      .edit(QuestionTests.message, content: "other", base: nil),
      in: CommandContext(
        replica: ReplicaID(rawValue: 99), stamp: Stamp(milliseconds: TestDevice.startOfTime + 9),
        queueSizeMax: 10))
    let race = StartRace(editing: QuestionTests.message, from: before, to: workspace)
    let texts = ["text", "other"].map(DispatchRequest.contentDigest)
    #expect(race.ending(.outcome(attempt: 0, token: 0, content: 0)) == .inTime)
    #expect(race.ending(.outcome(attempt: 1, token: 5, content: texts[0])) == .tooLate)
    #expect(race.ending(.outcome(attempt: 1, token: 5, content: texts[1])) == .inTime)
    #expect(race.ending(.unavailable) == .unconfirmed)
  }
}
