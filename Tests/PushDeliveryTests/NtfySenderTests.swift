import Foundation
import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// Publishing to an ntfy server.
@Suite struct NtfySenderTests {
  static func address(_ bed: PushBed, token: String? = "tk_planted0") -> String {
    "ntfy+\(bed.web.url)/private-topic" + (token.map { "#" + $0 } ?? "")
  }

  static func answering() throws -> NtfyAnswering {
    try NtfyAnswering(server: "https://answers.example", key: Secret("planted-answer-key"))
  }

  @Test func anApprovalIsPublishedWithItsButtons() async throws {
    let answering = try Self.answering()
    try await PushBed.with(answering: answering) { bed in
      bed.web.answer(next: .status(200, body: #"{"id":"ntfyID1","event":"message"}"#))
      let notice = try PushBed.notice(
        body: "Bash: make", digest: "planted-digest", expiresAt: PushBed.start + 60_000)
      let outcome = await bed.sender.send(
        .alert(notice), to: try bed.target(Self.address(bed)))
      #expect(outcome == .delivered(providerID: "ntfyID1"))
      let request = try #require(bed.web.requests.first)
      #expect(request.method == "POST")
      #expect(request.path == "/")
      #expect(request.header("Authorization") == "Bearer tk_planted0")
      let json = request.json
      #expect(json["topic"] as? String == "private-topic")
      #expect(json["title"] as? String == "Approval Needed")
      #expect(json["message"] as? String == "Bash: make")
      #expect(json["sequence_id"] as? String == "notice-1")
      #expect(json["priority"] as? Int == 4)
      // No app on a phone with ntfy opens the project's links.
      #expect(json["click"] == nil)
      let actions = try #require(json["actions"] as? [[String: Any]])
      #expect(actions.map { $0["label"] as? String } == ["Approve", "Deny"])
      #expect(actions.map { $0["action"] as? String } == ["http", "http"])
      for (action, decision) in zip(actions, [AnswerTicket.Decision.approve, .deny]) {
        #expect(action["url"] as? String == "https://answers.example/v1/answers")
        #expect(action["method"] as? String == "POST")
        let body = Array(try #require(action["body"] as? String).utf8)
        let ticket = AnswerTicket(
          workspaceID: "workspace-1", deviceID: "device-1", sessionID: "session-1",
          requestID: "request-1", decision: decision,
          digest: decision == .approve ? "planted-digest" : "", expiresAt: PushBed.start + 60_000)
        #expect(answering.read(body, now: bed.now) == .ticket(ticket))
        #expect(answering.read(body, now: bed.now + 60_000) == .expired(ticket))
      }
    }
  }

  /// A notice that leaves something out has no button to approve.
  @Test(arguments: [false, true])
  func hiddenContentsAreNotApproved(isLong: Bool) async throws {
    let digest = isLong ? "planted-digest" : nil
    let details = isLong ? String(repeating: "🇪🇺", count: 3_000) : nil
    try await PushBed.with(answering: try Self.answering()) { bed in
      let notice = try PushBed.notice(details: details, digest: digest)
      _ = await bed.sender.send(.alert(notice), to: try bed.target(Self.address(bed)))
      let actions = bed.web.requests.first?.json["actions"] as? [[String: Any]]
      #expect(actions?.map { $0["label"] as? String } == ["Deny"])
    }
  }

  @Test func aForgedAnswerIsNone() throws {
    let answering = try Self.answering()
    let other = try NtfyAnswering(server: "https://a.example/", key: Secret("another"))
    let ticket = AnswerTicket(
      workspaceID: "w", deviceID: "d", sessionID: "s", requestID: "r", decision: .deny,
      digest: "planted", expiresAt: 10)
    let deny = try answering.body(for: ticket)
    #expect(answering.read(Array(deny.utf8), now: 9) == .ticket(ticket))
    var moved = ticket
    moved.workspaceID = "w1"
    moved.deviceID = ""
    let signature = deny.components(separatedBy: #""signature":""#)[1].prefix(64)
    let forged = [
      deny.replacing("deny", with: "approve"), deny.replacing(#""r""#, with: #""x""#),
      deny.replacing(#""s""#, with: #""x""#), deny.replacing(#""w""#, with: #""x""#),
      deny.replacing(#""d""#, with: #""x""#), deny.replacing("planted", with: "other"),
      deny.replacing("10", with: "11"),
      deny.replacing(signature, with: signature.dropLast(2)),
      deny.replacing(signature, with: ""), try other.body(for: ticket),
      try other.body(for: moved),
    ]
    for text in forged {
      #expect(answering.read(Array(text.utf8), now: 9) == .forged, "\(text)")
    }
    for text in ["", "{}", "[1]", deny.replacing("10", with: "null"), String(deny.dropLast())] {
      #expect(answering.read(Array(text.utf8), now: 9) == .unreadable, "\(text)")
    }
  }

  @Test(arguments: [
    "http://answers.example", "https://me@answers.example", "https://answers.example/?a=b", "",
    "answers.example",
  ]) func anAddressThatIsNotSafeIsRefused(server: String) {
    #expect(throws: PushConfigurationError.badAnswerURL) {
      try NtfyAnswering(server: server, key: Secret("k"))
    }
  }

  @Test func answersNeedAKey() {
    #expect(throws: PushConfigurationError.noAnswerKey) {
      try NtfyAnswering(server: "https://answers.example", key: Secret(""))
    }
  }

  @Test func withoutAnAnswerAddressThereAreNoButtons() async throws {
    try await PushBed.with { bed in
      _ = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed, token: nil)))
      let request = try #require(bed.web.requests.first)
      #expect(request.header("Authorization") == nil)
      #expect(request.json["actions"] == nil)
    }
  }

  @Test func aStatusReplacesTheOneBeforeAndANoticeIsCleared() async throws {
    try await PushBed.with { bed in
      let target = try bed.target(Self.address(bed))
      for event in [
        LiveActivityPush.Event.start(attributesType: "A"), .update, .end(dismissalAt: nil),
      ] {
        _ = await bed.sender.send(try PushBed.activity(event), to: target)
      }
      let id = try #require(PushNoticeID("notice-1"))
      #expect(await bed.sender.send(.retract(id), to: target) == .delivered(providerID: nil))
      let requests = bed.web.requests
      #expect(requests.prefix(3).allSatisfy { $0.json["sequence_id"] as? String == "status-1" })
      #expect(requests[1].json["message"] as? String == "Editing (2 of 5)")
      #expect(requests[1].json["priority"] as? Int == 2)
      #expect(requests[2].json["title"] as? String == "Task ended")
      #expect(requests[3].method == "PUT")
      #expect(requests[3].path == "/private-topic/notice-1/clear")
      #expect(requests[3].header("Authorization") == "Bearer tk_planted0")
    }
  }

  @Test func longTextsAreCut() async throws {
    try await PushBed.with { bed in
      let notice = try PushBed.notice(details: String(repeating: "🇪🇺", count: 3_000))
      _ = await bed.sender.send(.alert(notice), to: try bed.target(Self.address(bed)))
      let message = try #require(bed.web.requests.first?.json["message"] as? String)
      #expect((4_000...4_096).contains(message.utf8.count))
      #expect(message.hasSuffix("🇪🇺"))
    }
  }

  @Test func theServersAnswerIsPassedOnWithoutSecrets() async throws {
    try await PushBed.with { bed in
      bed.web.answer(
        next: .status(
          429, headers: [("Retry-After", "30")],
          body: #"{"code":42901,"error":"limit reached: private-topic of tk_planted0\u0007"}"#))
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed)))
      #expect(
        outcome
          == .retry(
            after: .seconds(30),
            reason: "status 429: limit reached: [redacted] of [redacted] "))
    }
  }

  @Test(arguments: [
    (200, APNsRefusalTests.Kind.delivered), (301, .target), (307, .target),
    (400, .rejected), (401, .target), (403, .target), (404, .target),
    (408, .retry), (413, .rejected), (429, .retry), (500, .retry), (507, .retry),
  ]) func everyStatusHasItsOutcome(status: Int, kind: APNsRefusalTests.Kind) async throws {
    try await PushBed.with { bed in
      bed.web.answer(
        always: .status(status, headers: [("Location", bed.web.url + "/elsewhere")]))
      let target = try bed.target(Self.address(bed))
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: target)
      #expect(APNsRefusalTests.kind(outcome) == kind, "\(outcome)")
      #expect(bed.web.requests.count == 1, "a redirect was followed")
    }
  }

  @Test func anOldServerTakesNothingBack() async throws {
    try await PushBed.with { bed in
      bed.web.answer(next: .status(404))
      let id = try #require(PushNoticeID("notice-1"))
      let outcome = await bed.sender.send(.retract(id), to: try bed.target(Self.address(bed)))
      guard case .rejected(let reason) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(reason.contains("2.16"))
    }
  }
}
