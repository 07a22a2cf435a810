import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// Network faults while pushing: delays, resets, closed connections.
@Suite struct APNsNetworkTests {
  @Test func anAnswerThatNeverComesEndsAtTheDeadline() async throws {
    try await PushBed.with(deadline: .seconds(1)) { bed in
      for answer in [FakeAnswer.silence, .unfinished(200)] {
        bed.apns.answer(next: answer)
        let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
        #expect(outcome == .retry(after: nil, reason: "no answer before the deadline"))
      }
    }
  }

  @Test func aConnectionThatAnswersNothingIsReplaced() async throws {
    try await PushBed.with(deadline: .seconds(2)) { bed in
      let before = try await Self.deliver(bed)
      bed.apns.answer(always: .silence)
      for _ in 0..<2 {
        let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
        #expect(outcome == .retry(after: nil, reason: "no answer before the deadline"))
      }
      bed.apns.answer(always: .status(200))
      #expect(try await Self.deliver(bed) > before)
    }
  }

  @Test(arguments: [FakeAnswer.reset, .goAway, .close])
  func aBrokenConnectionIsTriedAgainLater(answer: FakeAnswer) async throws {
    try await PushBed.with { bed in
      bed.apns.answer(next: answer)
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      guard case .retry(after: nil, let reason) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(!reason.contains(PushBed.deviceToken))
      _ = try await Self.deliver(bed)
    }
  }

  /// Sends until a push gets through: a connection that is about to close may still take a request,
  /// and a busy machine may be late.
  ///
  /// - Returns: the number of the connection that it went over.
  private static func deliver(_ bed: PushBed) async throws -> Int {
    for _ in 0..<30 {
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      if case .delivered = outcome { return bed.apns.requests.last?.connection ?? 0 }
    }
    throw NotDelivered()
  }

  private struct NotDelivered: Error {}

  @Test func nobodyListening() async throws {
    try await PushBed.with { bed in
      try await bed.apns.stop()
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      #expect(APNsRefusalTests.kind(outcome) == .retry)
    }
  }

  @Test func anUnknownCertificateIsNotSentTo() async throws {
    try await PushBed.with(trusts: false) { bed in
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      guard case .retry(_, let reason) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(reason.contains("certificate"))
      #expect(bed.apns.requests.isEmpty)
    }
  }

  @Test func anAnswerWithoutEndIsNotReadOn() async throws {
    try await PushBed.with { bed in
      bed.apns.answer(
        next: .status(503, body: String(repeating: "x", count: 1_000_000)))
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      #expect(outcome == .retry(after: nil, reason: "status 503"))
    }
  }

  @Test func aMissingRootIsReportedAtOnce() {
    #expect {
      try PushSender(PushConfiguration(trustedRootFile: "/nowhere.pem")) { 0 }
    } throws: { error in
      guard case .trustedRootNotReadable("/nowhere.pem", _)? = error as? PushConfigurationError
      else { return false }
      return true
    }
  }

  @Test func aWrongRootIsReported() throws {
    let file = TestAuthority.certificateFile
    let configuration = PushConfiguration(trustedRootFile: file)
    try configuration.checkTrustedRoot(at: 1_800_000_000_000)
    #expect(throws: PushConfigurationError.trustedRootExpired(file: file)) {
      try configuration.checkTrustedRoot(at: .max)
    }
    #expect(throws: PushConfigurationError.noTrustedRoot(file: #filePath)) {
      try PushConfiguration(trustedRootFile: #filePath).checkTrustedRoot(at: 0)
    }
    try PushConfiguration().checkTrustedRoot(at: .max)
  }
}
