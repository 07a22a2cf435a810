import Foundation
import PushDelivery
import PushNotices
import PushTestSupport
import QueueModel
import SequenceCRDT
import SyncServer
import Testing
import WireProtocol

/// Buttons of ntfy notices, pressed against a real server: one answer counts, and the others get
/// the reason.
@Suite struct ButtonAnswerTests {
  /// A host whose agent waits, an absent phone with an ntfy target, and the received pushes.
  private struct Bed {
    var fixture: ServerFixture
    var web: FakeWebServer
    var host: WireDevice
    var client: RawClient
    var phone: WireDevice

    var url: String { "http://127.0.0.1:\(fixture.server.port)/v1/answers" }

    /// The agent asks, and the phone shows two buttons; returns what they post.
    mutating func ask(
      _ low: UInt64, expiresAt: Int64? = nil
    ) async throws -> (approve: String, deny: String) {
      let request = ApprovalRequest(
        id: RequestID(high: 5, low: low), toolName: "Bash", summary: "make",
        expiresAt: expiresAt, digest: ButtonAnswerTests.digest)
      try await client.send(try host.report(.processing(operation: nil)))
      try await client.send(try host.report(.awaitingApproval(request)))
      let web = web
      try await PushServiceTests.eventually {
        ButtonAnswerTests.buttons(in: web.requests, of: request.id) != nil
      }
      return try #require(ButtonAnswerTests.buttons(in: web.requests, of: request.id))
    }

    /// The next answer that the host receives.
    func answeredNotice() async throws -> AnsweredNotice? {
      let frame = try await client.frame { if case .answered = $0 { true } else { false } }
      guard case .answered(let notice) = frame else { return nil }
      return notice
    }
  }

  /// The SHA-256 of `Bash`, `make` and no details, each followed by a line feed.
  private static let digest = ContentHash(
    "3ee83b69d0c00445cba72481084b65fbba67f4a7de009648ba77814e8c32798d")

  private static func buttons(
    in requests: [RecordedRequest], of id: RequestID
  ) -> (approve: String, deny: String)? {
    for request in requests {
      let actions = request.json["actions"] as? [[String: Any]] ?? []
      let bodies = actions.compactMap { $0["body"] as? String }
      if bodies.count == 2, bodies[0].contains(id.description) { return (bodies[0], bodies[1]) }
    }
    return nil
  }

  private static func with(
    targetOf owner: PushTargetOwner = .device, _ body: (inout Bed) async throws -> Void
  ) async throws {
    let web = try await FakeWebServer.start()
    try await ServerFixture.with { options in
      options.pushSchedule = BackoffSchedule(
        firstMilliseconds: 1, longestMilliseconds: 2, attemptsMax: 1_000_000,
        spanMilliseconds: 600_000)
    } _: { fixture in
      try fixture.administration.configure(allowedNetworks: ["127.0.0.1"])
      try fixture.administration.configureAnswers(
        server: "http://127.0.0.1:\(fixture.server.port)")
      // The running server applies it; a restart would change its port.
      let url = "http://127.0.0.1:\(fixture.server.port)/v1/answers"
      for _ in 0..<6_000 {
        if try await TestPost.send("{}", to: url).status == 400 { break }
        try await Task.sleep(for: .milliseconds(10))
      }
      var phone = try await fixture.pair(2)
      let away = try await fixture.join(&phone)
      let request = InboxRequest.setTarget(
        PushTargetID(high: 1, low: 1), kind: "ntfy", address: "ntfy+\(web.url)/planted-topic",
        owner: owner)
      try await away.send(.request(request.request(id: 1)))
      _ = try await away.frame { if case .response = $0 { true } else { false } }
      let preferences = InboxRequest.setPreferences(NotificationPreferences(showsDetails: true))
      try await away.send(.request(preferences.request(id: 2)))
      _ = try await away.frame { if case .response = $0 { true } else { false } }
      await away.close()
      var host = try await fixture.pair(1)
      let client = try await fixture.join(&host)
      try await client.send(try host.write("build it"))
      var bed = Bed(fixture: fixture, web: web, host: host, client: client, phone: phone)
      try await body(&bed)
      await bed.client.close()
      fixture = bed.fixture
    }
    try await web.stop()
  }

  // S4-16, S4-33, S4-53: a notification's button answers; a double tap is harmless.
  @Test func aButtonAnswersOnce() async throws {
    try await Self.with { bed in
      let (approve, deny) = try await bed.ask(6)
      let first = try await TestPost.send(approve, to: bed.url)
      #expect(first.status == 200 && first.text == "Allowed.\n")
      let notice = try #require(try await bed.answeredNotice())
      #expect(notice.request == RequestID(high: 5, low: 6))
      #expect(notice.given.verdict == .allowed && notice.given.digest == Self.digest)
      #expect(notice.given.device == DeviceID(high: 9, low: 2))
      let again = try await TestPost.send(approve, to: bed.url)
      #expect(again.status == 200 && again.text == "It was already allowed.\n")
      let other = try await TestPost.send(deny, to: bed.url)
      #expect(other.status == 409)
      #expect(other.text == "Too late: already answered by d2: allowed.\n")
      let (_, second) = try await bed.ask(7)
      #expect(try await TestPost.send(second, to: bed.url).text == "Denied.\n")
      let denied = try #require(try await bed.answeredNotice())
      #expect(denied.request == RequestID(high: 5, low: 7), "an answer without effect")
      #expect(denied.given.verdict == .denied)
    }
  }

  /// The user's notice is answered in the name of the device that set the address, while that has
  /// access.
  @Test func aNoticeForThePersonIsAnswered() async throws {
    try await Self.with(targetOf: .person) { bed in
      let (approve, _) = try await bed.ask(6)
      let answer = try await TestPost.send(approve, to: bed.url)
      #expect(answer.status == 200 && answer.text == "Allowed.\n", "\(answer)")
      #expect(try await bed.answeredNotice()?.given.device == DeviceID(high: 9, low: 2))
      let (second, _) = try await bed.ask(7)
      _ = try bed.fixture.administration.revoke(device: "d2", workspaceName: nil)
      #expect(try await TestPost.send(second, to: bed.url).status == 403)
    }
  }

  @Test func invalidAnswersChangeNothing() async throws {
    try await Self.with { bed in
      let (approve, deny) = try await bed.ask(6)
      let altered = deny.replacing("deny", with: "approve")
      let refused: [(String, Int, String)] = [
        (altered, 403, "not signed"), (String(approve.dropLast(3)), 400, "not the answer"),
        ("", 400, "not the answer"), (String(repeating: "x", count: 5_000), 413, "4096 bytes"),
        (approve.replacing(DeviceID(high: 9, low: 2).description, with: "x"), 403, "not signed"),
      ]
      for (body, status, text) in refused {
        let answer = try await TestPost.send(body, to: bed.url)
        #expect(answer.status == status && answer.text.contains(text), "\(body): \(answer)")
      }
      #expect(try await TestPost.send("", to: bed.url, method: "GET").status == 405)
      #expect(try await TestPost.send("", to: bed.url, method: "OPTIONS").status == 200)
      #expect(try await TestPost.send(deny, to: bed.url).status == 200, "it was still open")
    }
  }

  @Test func answersToFinishedRequestsAreTooLate() async throws {
    try await Self.with { bed in
      let now = Int64(Date().timeIntervalSince1970 * 1_000)
      let (approve, _) = try await bed.ask(6, expiresAt: now + 600_000)
      // The agent continues by itself.
      try await bed.client.send(try bed.host.report(.processing(operation: nil)))
      try await PushServiceTests.eventually { bed.web.requests.contains { $0.method == "PUT" } }
      let late = try await TestPost.send(approve, to: bed.url)
      #expect(late.status == 410 && late.text.contains("no longer open"), "\(late)")
      let settings = try PushSettings.read(directory: bed.fixture.directory)
      let answers = try #require(settings.answers)
      let answering = try NtfyAnswering(server: answers.server, key: answers.key)
      guard case .ticket(var ticket) = answering.read(Array(approve.utf8), now: now) else {
        Issue.record("the button's body cannot be read")
        return
      }
      ticket.expiresAt = now - 1
      let expired = try await TestPost.send(try answering.body(for: ticket), to: bed.url)
      #expect(expired.status == 410 && expired.text.contains("the request has expired"))
    }
  }

  /// Revoking a lost phone also revokes its buttons.
  @Test func aRevokedDeviceAnswersNothing() async throws {
    try await Self.with { bed in
      let (approve, _) = try await bed.ask(6)
      _ = try bed.fixture.administration.revoke(device: "d2", workspaceName: nil)
      let answer = try await TestPost.send(approve, to: bed.url)
      #expect(answer.status == 403 && answer.text.contains("no longer has access"), "\(answer)")
      let count = bed.web.requests.count
      try await bed.client.send(try bed.host.report(.processing(operation: nil)))
      try await bed.client.send(try bed.host.report(.completed(.success(summary: nil))))
      try await PushServiceTests.eventually {
        try bed.fixture.administration.pushState().waiting == 0
      }
      #expect(bed.web.requests.count == count, "a revoked device was pushed to")
    }
  }

  /// A request at the agent's own prompt is notified without buttons.
  @Test func requestsAtTheAgentsOwnPromptHaveNoButtons() async throws {
    try await Self.with { bed in
      let request = ApprovalRequest(
        id: RequestID(high: 5, low: 6), toolName: "Bash", summary: "make", expiresAt: 1)
      try await bed.client.send(try bed.host.report(.processing(operation: nil)))
      try await bed.client.send(try bed.host.report(.awaitingApproval(request)))
      let (web, message) = (bed.web, "Bash: make")
      try await PushServiceTests.eventually {
        web.requests.contains { $0.json["message"] as? String == message }
      }
      #expect(web.requests.allSatisfy { $0.json["actions"] == nil && $0.json["click"] == nil })
    }
  }

  /// The register changed between the notice and the tap.
  @Test func anotherRequestThanTheNoticeShowedIsNotApproved() async throws {
    try await Self.with { bed in
      let (approve, _) = try await bed.ask(6)
      let other = ApprovalRequest(
        id: RequestID(high: 5, low: 6), toolName: "Bash", summary: "make; rm -rf ~",
        digest: ContentHash(String(repeating: "00", count: 32)))
      try await bed.client.send(try bed.host.report(.awaitingApproval(other)))
      let answer = try await TestPost.send(approve, to: bed.url)
      #expect(answer.status == 410 && answer.text.contains("no longer open"), "\(answer)")
    }
  }

  /// A device wrote a different text with the digest of an agent's request.
  @Test func wordsThatAreNotTheDigestsHaveNoApproveButton() async throws {
    try await Self.with { bed in
      let request = ApprovalRequest(
        id: RequestID(high: 5, low: 6), toolName: "Bash", summary: "make all",
        digest: Self.digest)
      try await bed.client.send(try bed.host.report(.processing(operation: nil)))
      try await bed.client.send(try bed.host.report(.awaitingApproval(request)))
      let web = bed.web
      func notice() -> [String: Any]? {
        web.requests.last { ($0.json["message"] as? String)?.contains("make all") == true }?.json
      }
      try await PushServiceTests.eventually { notice() != nil }
      let actions = notice()?["actions"] as? [[String: Any]]
      #expect(actions?.map { $0["label"] as? String } == ["Deny"])
    }
  }

  @Test func aNewKeyEndsTheButtonsBefore() async throws {
    try await Self.with { bed in
      let (approve, _) = try await bed.ask(6)
      let server = "http://127.0.0.1:\(bed.fixture.server.port)"
      let before = try PushSettings.read(directory: bed.fixture.directory)
      try bed.fixture.administration.configureAnswers(server: server)
      #expect(try PushSettings.read(directory: bed.fixture.directory) == before)
      try bed.fixture.administration.configureAnswers(server: server, renewsKey: true)
      var answer = try await TestPost.send(approve, to: bed.url)
      for _ in 0..<6_000 where answer.status != 403 {
        try await Task.sleep(for: .milliseconds(10))
        answer = try await TestPost.send(approve, to: bed.url)
      }
      try bed.fixture.administration.configureAnswers(server: nil)
      for _ in 0..<6_000 where answer.status != 404 {
        try await Task.sleep(for: .milliseconds(10))
        answer = try await TestPost.send(approve, to: bed.url)
      }
      #expect(answer.text == "This server does not accept answers by button.\n")
    }
  }
}
