import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// Answers to requests of tasks as the server accepts them: durable first, then sent to all
/// devices.
@Suite struct VerdictTests {
  private let session: SessionID
  private let request = RequestID(high: 5, low: 6)

  init() throws {
    session = try SessionID("main")
  }

  /// A host whose task awaits an approval, and two devices of the same user.
  private func scene() throws -> (ServerScene, host: ConnectionID, [ConnectionID]) {
    var scene = ServerScene()
    var host = scene.device(1)
    let connection = try scene.join(&host)
    try host.perform(.addSession(session, name: nil, project: nil))
    for status in [
      TaskStatus.processing(operation: nil),
      .awaitingApproval(ApprovalRequest(id: request, toolName: "Bash", summary: "make")),
    ] {
      try host.perform(
        .reportTask(TaskReport(session: session, status: status, milliseconds: 1)))
    }
    scene.send(host.changes(), on: connection)
    var others: [ConnectionID] = []
    for number in UInt64(2)...3 {
      var other = scene.device(number)
      others.append(try scene.join(&other))
    }
    _ = scene.take(connection)
    for other in others { _ = scene.take(other) }
    return (scene, connection, others)
  }

  private func answer(_ verdict: Verdict) -> AuthorityRequest {
    .answer(AnswerRequest(session: session, request: request, verdict: verdict, text: "go"))
  }

  private func given(_ verdict: Verdict, by number: UInt64) -> GivenVerdict {
    GivenVerdict(verdict: verdict, device: ServerScene().device(number).id, text: "go")
  }

  private func responses(
    to request: AuthorityRequest, among frames: [Frame]
  ) throws -> [AuthorityAnswer] {
    try frames.compactMap { frame in
      guard case .response(let response) = frame else { return nil }
      return try AuthorityAnswer(response, to: request)
    }
  }

  private func notices(among frames: [Frame]) -> [AnsweredNotice] {
    frames.compactMap { frame in
      if case .answered(let notice) = frame { notice } else { nil }
    }
  }

  @Test func oneOfTwoAnswersCountsAndAllDevicesLearnOfIt() throws {
    var (scene, host, others) = try scene()
    scene.holdsTasks = true
    scene.send(.request(answer(.allowed).request(id: 1)), on: others[0])
    scene.send(.request(answer(.denied).request(id: 1)), on: others[1])
    #expect(scene.take(others[0]).isEmpty, "nothing is announced before it is durable")
    #expect(scene.take(host).isEmpty)
    scene.finishTasks()
    scene.holdsTasks = false
    let notice = AnsweredNotice(
      session: session, request: request, given: given(.allowed, by: 2))
    let first = scene.take(others[0])
    let second = scene.take(others[1])
    #expect(try responses(to: answer(.allowed), among: first) == [.taken])
    #expect(
      try responses(to: answer(.denied), among: second)
        == [.answeredAlready(.allowed, by: notice.given.device)])
    #expect(notices(among: scene.take(host)) == [notice])
    #expect(notices(among: second) == [notice])
    #expect(notices(among: first).isEmpty, "the device that answered learns it from the response")
  }

  @Test func anUnstoredVerdictIsNeitherAcceptedNorReported() throws {
    var (scene, host, others) = try scene()
    scene.holdsTasks = true
    scene.send(.request(answer(.allowed).request(id: 1)), on: others[0])
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    scene.finishTasks()
    scene.storage.withState { $0.writeFault = nil }
    #expect(
      try responses(to: answer(.allowed), among: scene.take(others[0])) == [.unavailable])
    scene.pass(5_000)
    scene.finishTasks()
    scene.holdsTasks = false
    #expect(notices(among: scene.take(host)).isEmpty)
    scene.send(.request(answer(.denied).request(id: 2)), on: others[1])
    #expect(try responses(to: answer(.denied), among: scene.take(others[1])) == [.taken])
  }

  @Test func theHostLearnsTheOutcomeOfItsRequestAfterARestart() throws {
    var (scene, _, others) = try scene()
    scene.send(.request(answer(.denied).request(id: 1)), on: others[0])
    #expect(try responses(to: answer(.denied), among: scene.take(others[0])) == [.taken])
    scene.restart(ServerConfiguration())
    let host = scene.connect(scene.device(1))
    _ = scene.take(host)
    let question = AuthorityRequest.verdict(
      VerdictRequest(session: session, request: request, closes: true))
    scene.send(.request(question.request(id: 7)), on: host)
    #expect(
      try responses(to: question, among: scene.take(host))
        == [.verdict(given(.denied, by: 2))])
  }
}
