import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// Answers that come without a connection, by the button of a notice: the same authority decides.
@Suite struct PostedAnswerTests {
  private let session: SessionID
  private let request = RequestID(high: 5, low: 6)

  init() throws {
    session = try SessionID("main")
  }

  /// A host whose task awaits an approval, and its phone, which is away.
  private func scene(expires: Int64? = nil) throws -> (ServerScene, host: ConnectionID) {
    var scene = ServerScene()
    var host = scene.device(1)
    _ = scene.device(2)
    let connection = try scene.join(&host)
    try host.perform(.addSession(session, name: nil, project: nil))
    let approval = ApprovalRequest(
      id: request, toolName: "Bash", summary: "make", expiresAt: expires)
    for status in [TaskStatus.processing(operation: nil), .awaitingApproval(approval)] {
      try host.perform(
        .reportTask(
          TaskReport(session: session, status: status, milliseconds: scene.now.wallMilliseconds)))
    }
    scene.send(host.changes(), on: connection)
    _ = scene.take(connection)
    return (scene, connection)
  }

  private var phone: DeviceID { ServerScene().device(2).id }

  private func answer(_ verdict: Verdict) -> AnswerRequest {
    AnswerRequest(session: session, request: request, verdict: verdict)
  }

  private func notices(_ frames: [Frame]) -> [AnsweredNotice] {
    frames.compactMap { if case .answered(let notice) = $0 { notice } else { nil } }
  }

  @Test func theFirstCountsAndTheHostHearsOfItOnce() throws {
    var (scene, host) = try scene()
    scene.holdsTasks = true
    let first = scene.post(answer(.allowed), by: phone)
    #expect(scene.settled.isEmpty, "nothing is announced before it is durable")
    scene.finishTasks()
    scene.holdsTasks = false
    #expect(scene.settled[first] == [.taken(isRepeated: false)])
    let given = GivenVerdict(verdict: .allowed, device: phone, text: "")
    #expect(
      notices(scene.take(host))
        == [AnsweredNotice(session: session, request: request, given: given)])
    let again = scene.post(answer(.allowed), by: phone)
    let other = scene.post(answer(.denied), by: phone)
    #expect(scene.settled[again] == [.taken(isRepeated: true)])
    #expect(scene.settled[other] == [.answeredAlready(.allowed, by: "device 2")])
    #expect(notices(scene.take(host)).isEmpty, "an answer that changes nothing is not announced")
  }

  @Test func finishedRequestsAreNotAwaited() throws {
    var (scene, _) = try scene(expires: 1_700_000_000_000 + 1_000)
    scene.pass(1_000)
    let late = scene.post(answer(.allowed), by: phone)
    #expect(scene.settled[late] == [.notAwaited])
    let unknown = scene.post(
      AnswerRequest(session: session, request: RequestID(high: 1, low: 1), verdict: .denied),
      by: phone)
    #expect(scene.settled[unknown] == [.notAwaited])
    let nowhere = scene.post(answer(.allowed), by: phone, in: WorkspaceID(high: 7, low: 7))
    #expect(scene.settled[nowhere] == [.notAwaited])
  }

  @Test func aWorkspaceThatIsNotInMemoryIsRead() throws {
    var (scene, _) = try scene()
    scene.restart(ServerConfiguration())
    scene.holdsTasks = true
    let first = scene.post(answer(.denied), by: phone)
    let second = scene.post(answer(.allowed), by: phone)
    #expect(scene.settled.isEmpty)
    scene.finishTasks()
    #expect(scene.settled[first] == [.taken(isRepeated: false)])
    #expect(scene.settled[second] == [.answeredAlready(.denied, by: "device 2")])
  }

  @Test func anUnstoredAnswerIsNotAccepted() throws {
    var (scene, host) = try scene()
    scene.holdsTasks = true
    let lost = scene.post(answer(.allowed), by: phone)
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    scene.finishTasks()
    #expect(scene.settled[lost] == [.unavailable])
    let refused = scene.post(answer(.allowed), by: phone)
    scene.finishTasks()
    #expect(scene.settled[refused] == [.unavailable])
    scene.storage.withState { $0.writeFault = nil }
    scene.holdsTasks = false
    scene.pass(5_000)
    #expect(notices(scene.take(host)).isEmpty)
    let taken = scene.post(answer(.denied), by: phone)
    #expect(scene.settled[taken] == [.taken(isRepeated: false)])
  }

  @Test func aServerThatStopsTakesNone() throws {
    var (scene, _) = try scene()
    scene.stop()
    let late = scene.post(answer(.allowed), by: phone)
    #expect(scene.settled[late] == [.unavailable])
  }

  @Test func atMostSoManyWaitForAWorkspace() throws {
    var (scene, _) = try scene()
    var configuration = ServerConfiguration()
    configuration.quota.requestsMax = 2
    scene.restart(configuration)
    scene.holdsTasks = true
    let posts = (0..<3).map { _ in scene.post(answer(.allowed), by: phone) }
    #expect(scene.settled[posts[2]] == [.unavailable])
    scene.finishTasks()
    #expect(scene.settled[posts[0]] == [.taken(isRepeated: false)])
    #expect(scene.settled[posts[1]] == [.taken(isRepeated: true)])
  }
}
