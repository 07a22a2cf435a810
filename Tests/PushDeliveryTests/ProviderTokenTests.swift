import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// The choice of the provider token. The fake of Apple's service checks the signature.
@Suite struct ProviderTokenTests {
  static let minute: Int64 = 60_000

  @Test func aTokenIsUsedForFiftyMinutes() {
    var cache = ProviderTokenCache()
    #expect(cache.verdict(at: 0) == .renew)
    let token = Secret("a")
    cache.renewed(token, at: 0)
    #expect(cache.verdict(at: 50 * Self.minute - 1) == .use(token))
    #expect(cache.verdict(at: 50 * Self.minute) == .renew)
  }

  @Test func aRefusedTokenIsNotRenewedWithinTwentyMinutes() {
    var cache = ProviderTokenCache()
    let token = Secret("a")
    cache.renewed(token, at: 0)
    cache.refused(token)
    #expect(cache.verdict(at: 0) == .wait(milliseconds: 20 * Self.minute))
    #expect(cache.verdict(at: 20 * Self.minute - 1) == .wait(milliseconds: 1))
    #expect(cache.verdict(at: 20 * Self.minute) == .renew)
  }

  @Test func refusalsOfAnEarlierTokenChangeNothing() {
    var cache = ProviderTokenCache()
    cache.renewed(Secret("a"), at: 0)
    cache.renewed(Secret("b"), at: 50 * Self.minute)
    cache.refused(Secret("a"))
    #expect(cache.verdict(at: 51 * Self.minute) == .use(Secret("b")))
  }

  @Test func aTokenFromTheFutureIsRenewed() {
    var cache = ProviderTokenCache()
    cache.renewed(Secret("a"), at: 1_000)
    #expect(cache.verdict(at: 999) == .renew)
  }

  /// Apple's rules, over two days of random requests: no token is older than an hour, and no two
  /// are made within twenty minutes.
  @Test func noTokenIsTooOldOrTooYoung() {
    var cache = ProviderTokenCache()
    var issued: [Int64] = []
    for now in stride(from: Int64(0), to: 2_880 * Self.minute, by: Int(7 * Self.minute)) {
      switch cache.verdict(at: now) {
      case .renew:
        issued.append(now)
        cache.renewed(Secret("\(now)"), at: now)
      case .use(let token):
        #expect(now - (issued.last ?? 0) < 60 * Self.minute)
        if now % (13 * Self.minute) == 0 { cache.refused(token) }
      case .wait: break
      }
    }
    #expect(issued.count > 40)
    for (before, after) in zip(issued, issued.dropFirst()) {
      #expect(after - before >= 20 * Self.minute)
    }
  }

  @Test func keysAreCheckedWithoutBeingQuoted() throws {
    let key = TestSigningKey()
    _ = try APNsSigningKey(pem: Secret(key.pem), keyID: key.keyID, teamID: key.teamID)
    #expect(throws: PushConfigurationError.badKeyID) {
      try APNsSigningKey(pem: Secret(key.pem), keyID: "short", teamID: key.teamID)
    }
    #expect(throws: PushConfigurationError.badTeamID) {
      try APNsSigningKey(pem: Secret(key.pem), keyID: key.keyID, teamID: "lowercase1")
    }
    for text in ["", "planted", key.pem.replacing("A", with: "!")] {
      #expect(throws: PushConfigurationError.keyNotReadable) {
        try APNsSigningKey(pem: Secret(text), keyID: key.keyID, teamID: key.teamID)
      }
    }
  }
}
