import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// Every refusal that Apple documents, and every network fault, has its outcome.
@Suite struct APNsRefusalTests {
  /// The outcome of each reason, written a second time from Apple's table.
  static let expected: [(Int, String, Kind)] = [
    (400, "BadCollapseId", .rejected), (400, "BadDeviceToken", .invalid),
    (400, "BadExpirationDate", .rejected), (400, "BadMessageId", .rejected),
    (400, "BadPriority", .rejected), (400, "BadTopic", .target),
    (400, "DeviceTokenNotForTopic", .invalid), (400, "DuplicateHeaders", .rejected),
    (400, "IdleTimeout", .retry), (400, "InvalidPushType", .rejected),
    (400, "MissingDeviceToken", .rejected), (400, "MissingTopic", .target),
    (400, "PayloadEmpty", .rejected), (400, "TopicDisallowed", .target),
    (403, "BadCertificate", .configuration), (403, "BadCertificateEnvironment", .configuration),
    (403, "ExpiredProviderToken", .retry), (403, "Forbidden", .configuration),
    (403, "InvalidProviderToken", .configuration), (403, "MissingProviderToken", .configuration),
    (403, "UnrelatedKeyIdInToken", .configuration),
    (403, "BadEnvironmentKeyIdInToken", .configuration), (404, "BadPath", .rejected),
    (405, "MethodNotAllowed", .rejected), (410, "ExpiredToken", .invalid),
    (410, "Unregistered", .invalid), (413, "PayloadTooLarge", .rejected),
    (429, "TooManyProviderTokenUpdates", .retry), (429, "TooManyRequests", .retry),
    (500, "InternalServerError", .retry), (503, "ServiceUnavailable", .retry),
    (503, "Shutdown", .retry), (400, "SomethingNew", .rejected),
    (403, "SomethingNew", .configuration),
    (410, "SomethingNew", .retry), (429, "SomethingNew", .retry), (502, "SomethingNew", .retry),
  ]

  enum Kind { case delivered, retry, invalid, configuration, target, rejected }

  static func kind(_ outcome: PushOutcome) -> Kind {
    switch outcome {
    case .delivered: .delivered
    case .retry: .retry
    case .invalidTarget: .invalid
    case .configurationError: .configuration
    case .targetError: .target
    case .rejected: .rejected
    }
  }

  static func reason(_ outcome: PushOutcome) -> String {
    switch outcome {
    case .delivered: ""
    case .retry(_, let reason), .invalidTarget(let reason, _), .configurationError(let reason),
      .targetError(let reason), .rejected(let reason):
      reason
    }
  }

  @Test func everyReasonHasItsOutcomeAndIsNamed() async throws {
    try await PushBed.with { bed in
      for (status, word, kind) in Self.expected {
        bed.apns.answer(always: .apns(status, word))
        let outcome = await bed.sender.send(
          .alert(try PushBed.notice()), to: bed.device(), ignoringStop: true)
        #expect(Self.kind(outcome) == kind, "\(word): \(outcome)")
        #expect(Self.reason(outcome).contains(word), "\(word): \(outcome)")
        // A token that was reported expired may be replaced after this time.
        bed.advance(minutes: 20)
      }
    }
    let known = Self.expected.filter { $0.1 != "SomethingNew" }
    #expect(Set(known.map(\.1)) == Set(APNsReason.allCases.map(\.rawValue)))
    for (status, word, _) in known {
      #expect(APNsReason(rawValue: word)?.status == status)
    }
  }

  @Test func anUnregisteredDeviceThatRegisteredSinceIsKept() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      let gone = PushBed.start - 1
      bed.apns.answer(always: .apns(410, "Unregistered", timestamp: gone))
      let kept = await bed.sender.send(push, to: bed.device(registeredAt: gone + 1))
      #expect(Self.kind(kept) == .retry)
      for registered in [gone, gone - 1] {
        let outcome = await bed.sender.send(push, to: bed.device(registeredAt: registered))
        guard case .invalidTarget(_, since: gone) = outcome else {
          Issue.record("\(outcome)")
          return
        }
      }
    }
  }

  @Test func anInvalidTargetIsNeverSentTo() async throws {
    try await PushBed.with { bed in
      var device = bed.device()
      device.validity = .invalid(reason: "BadDeviceToken", since: nil)
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: device)
      #expect(outcome == .invalidTarget(reason: "BadDeviceToken", since: nil))
      #expect(bed.apns.requests.isEmpty)
    }
  }

  @Test func theWaitThatAppleRequestsIsPassedOn() async throws {
    try await PushBed.with { bed in
      bed.apns.answer(next: .apns(503, "ServiceUnavailable", retryAfter: 17))
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      #expect(outcome == .retry(after: .seconds(17), reason: "ServiceUnavailable"))
    }
  }

  @Test func aWrongKeyStopsAllUntilATestSucceeds() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      bed.apns.answer(next: .apns(403, "InvalidProviderToken"))
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .configuration)
      let stopped = await bed.sender.send(push, to: bed.device())
      guard case .configurationError(let reason) = stopped else {
        Issue.record("\(stopped)")
        return
      }
      #expect(reason.contains("InvalidProviderToken"))
      #expect(bed.apns.requests.count == 1)
      // The other service may judge the key differently.
      let other = await bed.sender.send(push, to: bed.device(environment: .development))
      #expect(Self.kind(other) == .delivered)
      let tried = await bed.sender.send(push, to: bed.device(), ignoringStop: true)
      #expect(Self.kind(tried) == .delivered)
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .delivered)
    }
  }

  /// Apple's complaint about a key may go away by itself, so the sender tries one request from time
  /// to time.
  @Test func aStoppedServiceIsTriedNowAndThen() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      bed.apns.answer(next: .apns(403, "InvalidProviderToken"))
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .configuration)
      bed.advance(minutes: 5)
      bed.apns.answer(next: .apns(403, "InvalidProviderToken"))
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .configuration)
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .configuration)
      #expect(bed.apns.requests.count == 2)
      bed.advance(minutes: 5)
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .delivered)
    }
  }

  @Test func tooManyTokensAreWaitedOut() async throws {
    try await PushBed.with { bed in
      bed.apns.answer(next: .apns(429, "TooManyProviderTokenUpdates"))
      let outcome = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      #expect(
        outcome == .retry(after: .milliseconds(1_200_000), reason: "TooManyProviderTokenUpdates"))
    }
  }

  /// A sender that replaces another one continues with its token if the key is the same.
  @Test func aSuccessorUsesTheTokenThatThereIs() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .delivered)
      let next = try bed.successor()
      next.takeToken(of: bed.sender)
      bed.advance(minutes: 1)
      #expect(Self.kind(await next.send(push, to: bed.device())) == .delivered)
      #expect(bed.apns.tokens.count == 1)
      await next.shutDown()
    }
  }

  @Test func anExpiredTokenIsRenewedAtOnceIfItMayBe() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      _ = await bed.sender.send(push, to: bed.device())
      bed.advance(minutes: 20)
      bed.apns.answer(next: .apns(403, "ExpiredProviderToken"))
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .delivered)
      #expect(bed.apns.tokens.count == 2)
      // Again, but too early this time: nothing is sent, and no third token is made.
      bed.apns.answer(next: .apns(403, "ExpiredProviderToken"))
      let early = await bed.sender.send(push, to: bed.device())
      guard case .retry(after: .milliseconds(1_200_000), _) = early else {
        Issue.record("\(early)")
        return
      }
      #expect(bed.apns.requests.count == 4)
      bed.advance(minutes: 19)
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .retry)
      #expect(bed.apns.requests.count == 4)
      bed.advance(minutes: 1)
      #expect(Self.kind(await bed.sender.send(push, to: bed.device())) == .delivered)
      #expect(bed.apns.tokens.count == 3)
    }
  }

  @Test func aWrongSignatureIsFoundOut() async throws {
    try await PushBed.with { bed in
      let wrong = TestSigningKey()
      let sender = try PushSender(
        PushConfiguration(
          apns: try APNsConfiguration(
            key: try APNsSigningKey(
              pem: Secret(wrong.pem), keyID: wrong.keyID, teamID: wrong.teamID),
            topics: [PushBed.topic], servers: [.production: bed.apns.url]),
          trustedRootFile: TestAuthority.certificateFile, deadline: .seconds(60))
      ) { PushBed.start }
      let outcome = await sender.send(.alert(try PushBed.notice()), to: bed.device())
      await sender.shutDown()
      #expect(Self.kind(outcome) == .configuration)
      #expect(bed.apns.faults == ["InvalidProviderToken"])
    }
  }
}
