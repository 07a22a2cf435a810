import Crypto
import Foundation
import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// Signed posts to the user's own address.
@Suite struct WebhookSenderTests {
  static let secret = "planted-webhook-secret"

  static func address(_ bed: PushBed) -> String {
    "webhook+\(bed.web.url)/private/hook?a=b#\(secret)"
  }

  /// Checks the signature as a receiver does: from the bytes on the wire, following only the
  /// documentation.
  static func isSigned(_ request: RecordedRequest, secret: String) -> Bool {
    guard let timestamp = request.header("Cospool-Timestamp"),
      let signature = request.header("Cospool-Signature"), signature.hasPrefix("v1=")
    else { return false }
    let code = HMAC<SHA256>.authenticationCode(
      for: Data(timestamp.utf8) + Data(".".utf8) + Data(request.body),
      using: SymmetricKey(data: Data(secret.utf8)))
    return signature.dropFirst(3) == code.map { String(format: "%02x", $0) }.joined()
  }

  @Test func aNoticeIsPostedAndSigned() async throws {
    try await PushBed.with { bed in
      let notice = try PushBed.notice(body: "Bash: make ü", details: "more")
      let outcome = await bed.sender.send(.alert(notice), to: try bed.target(Self.address(bed)))
      #expect(outcome == .delivered(providerID: nil))
      let request = try #require(bed.web.requests.first)
      #expect(request.method == "POST")
      #expect(request.path == "/private/hook?a=b")
      #expect(request.header("Cospool-Timestamp") == "1800000000")
      #expect(request.header("Idempotency-Key") == "notice-1")
      #expect(request.header("Content-Type") == "application/json")
      #expect(Self.isSigned(request, secret: Self.secret))
      #expect(!Self.isSigned(request, secret: Self.secret + "x"))
      let json = request.json
      #expect(json["event"] as? String == "notification")
      #expect(json["id"] as? String == "notice-1")
      #expect(json["sessionId"] as? String == "session-1")
      let body = try #require(json["notice"] as? [String: Any])
      #expect(body["category"] as? String == "APPROVAL_REQUEST")
      #expect(body["body"] as? String == "Bash: make ü")
      #expect(body["requestId"] as? String == "request-1")
    }
  }

  /// The worked example of SETTING-UP.md.
  @Test func theSignatureIsTheDocumentedOne() {
    #expect(
      WebhookSignature.value(
        timestamp: 1_800_000_000, body: Array(#"{"id":"n-1"}"#.utf8),
        secret: Secret("0123456789abcdef"))
        == "v1=15d588af9c33ad72189b3a5adc75fd69d8e6e4a29c5b503639b9ff7a3fad5ad7")
  }

  @Test func everyPushHasItsEventAndItsKey() async throws {
    try await PushBed.with { bed in
      let target = try bed.target(Self.address(bed))
      let id = try #require(PushNoticeID("notice-1"))
      let pushes = [
        Push.alert(try PushBed.notice()), .retract(id),
        try PushBed.activity(.start(attributesType: "A")), try PushBed.activity(.update),
        try PushBed.activity(.end(dismissalAt: nil)),
      ]
      for push in pushes {
        #expect(await bed.sender.send(push, to: target) == .delivered(providerID: nil))
      }
      let requests = bed.web.requests
      #expect(
        requests.map { $0.json["event"] as? String } == [
          "notification", "retracted", "status.started", "status.updated", "status.ended",
        ])
      let keys = requests.compactMap { $0.header("Idempotency-Key") }
      #expect(Set(keys).count == 5)
      #expect(requests.allSatisfy { Self.isSigned($0, secret: Self.secret) })
      let status = try #require(requests[3].json["status"] as? [String: Any])
      #expect(status["completed"] as? Int == 2)
    }
  }

  @Test(arguments: [
    (200, APNsRefusalTests.Kind.delivered), (204, .delivered), (302, .target),
    (400, .rejected), (401, .target), (404, .target), (408, .retry), (410, .invalid),
    (422, .rejected), (425, .retry), (429, .retry), (500, .retry), (503, .retry),
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

  @Test func retryAfterIsReadAsSecondsAndAsADate() async throws {
    try await PushBed.with { bed in
      let target = try bed.target(Self.address(bed))
      // 1,800,000,000 is Fri, 15 Jan 2027 08:00:00 GMT.
      for (text, expected) in [
        ("120", Duration.seconds(120)), ("Fri, 15 Jan 2027 08:00:30 GMT", .seconds(30)),
        ("Fri, 15 Jan 2027 07:00:00 GMT", .zero), ("99999999999", .seconds(86_400)),
      ] {
        bed.web.answer(next: .status(503, headers: [("Retry-After", text)]))
        let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: target)
        #expect(outcome == .retry(after: expected, reason: "status 503"), "\(text)")
      }
      for text in ["soon", "-1", ""] {
        bed.web.answer(next: .status(503, headers: [("Retry-After", text)]))
        let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: target)
        #expect(outcome == .retry(after: nil, reason: "status 503"), "\(text)")
      }
    }
  }

  @Test func overTLSWithAPrivateRoot() async throws {
    try await PushBed.with(tls: true) { bed in
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed)))
      #expect(outcome == .delivered(providerID: nil))
    }
    try await PushBed.with(tls: true, trusts: false) { bed in
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed)))
      guard case .retry(_, let reason) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(reason.contains("certificate"))
      #expect(bed.web.requests.isEmpty)
    }
  }

  @Test func deadlinesAndBrokenConnections() async throws {
    try await PushBed.with(deadline: .seconds(1)) { bed in
      let target = try bed.target(Self.address(bed))
      for answer in [FakeAnswer.silence, .unfinished(200)] {
        bed.web.answer(next: answer)
        let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: target)
        #expect(outcome == .retry(after: nil, reason: "no answer before the deadline"))
      }
    }
    try await PushBed.with { bed in
      bed.web.answer(always: .close)
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed)))
      #expect(APNsRefusalTests.kind(outcome) == .retry)
    }
  }

  @Test func theReceiversAnswerIsNotPassedOn() async throws {
    try await PushBed.with { bed in
      bed.web.answer(next: .status(400, body: "you sent \(Self.secret)"))
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: try bed.target(Self.address(bed)))
      #expect(outcome == .rejected(reason: "status 400"))
    }
  }
}
