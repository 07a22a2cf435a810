import PushNotices
import SyncTestSupport
import Testing

/// The text form of addresses: it is read, written, shown without secrets, and refused with advice.
@Suite struct PushAddressTests {
  static let token = String(repeating: "0123456789abcdef", count: 4)

  static let good = [
    "apns://org.example.app/\(token)?environment=development&purpose=alert",
    "apns://org.example.app/\(token)?environment=production&purpose=live-activity",
    "apns://org.example.app/\(token)?environment=production&purpose=live-activity&session=a%26b",
    "ntfy+https://ntfy.example/private-topic",
    "ntfy+https://ntfy.example:8443/private-topic#tk_planted",
    "ntfy+http://127.0.0.1:80/private-topic",
    "webhook+https://hooks.example/private/path?a=b#planted-secret-of-it",
    "webhook+http://localhost:9/private#planted-secret-of-it",
  ]

  @Test(arguments: good) func goodOnesAreReadAndWritten(text: String) throws {
    let address = try PushAddress(text: text)
    #expect(address.text.reveal() == text)
    #expect(try PushAddress(text: address.text.reveal()) == address)
  }

  @Test(arguments: good) func descriptionsHoldNoSecret(text: String) throws {
    let address = try PushAddress(text: text)
    var dumped = ""
    dump(PushTarget(id: "t", address: address, registeredAt: 0), to: &dumped)
    for shown in ["\(address)", String(reflecting: address), dumped] {
      for secret in ["planted", "private-topic", "private/path", Self.token] {
        #expect(!shown.contains(secret), "\(shown)")
      }
    }
  }

  /// The token of one activity receives nothing of other sessions.
  @Test func anActivitysTokenTakesWhatIsAboutItsSession() throws {
    func takes(_ query: String, _ session: String) throws -> Bool {
      let text = "apns://org.example.app/\(Self.token)?environment=production&purpose=\(query)"
      guard case .apns(let address) = try PushAddress(text: text) else { return false }
      return address.takes(
        .liveActivity(
          LiveActivityPush(
            id: PushNoticeID(digest: session), event: .update, sessionID: session,
            content: ActivityContent(status: .processing, startedAt: 1), timestamp: 1)))
    }
    #expect(try takes("live-activity&session=a%20b", "a b"))
    #expect(try !takes("live-activity&session=a%20b", "a"))
    #expect(try takes("live-activity", "a") && !takes("alert", "a"))
  }

  @Test func omittedPartsHaveTheirDefaultForThePurpose() throws {
    let address = try PushAddress(
      text: "apns://org.example.app/\(Self.token.uppercased())?environment=production")
    guard case .apns(let apns) = address else {
      Issue.record("it is not an address of Apple's")
      return
    }
    #expect(apns.purpose == .alert)
    #expect(apns.deviceToken.reveal() == Self.token)
  }

  @Test(arguments: [
    ("", PushAddressError.Code.unknownKind),
    ("mailto:planted@example.org", .unknownKind),
    ("apns://org.example.app/\(token)", .badEnvironment),
    ("apns://org.example.app/\(token)?environment=planted", .badEnvironment),
    ("apns://org.example.app/\(token)?environment=production&purpose=planted", .badPurpose),
    ("apns://org.example.app/\(token)?environment=production&session=planted", .badSession),
    (
      "apns://org.example.app/\(token)?environment=production&purpose=live-activity&session=%4",
      .badSession
    ),
    (
      "apns://org.example.app/\(token)?environment=production&purpose=live-activity&session=",
      .badSession
    ),
    ("apns://org.example.app/\(token)?planted=1&environment=production", .badEnvironment),
    ("apns://org example/\(token)?environment=production", .badAppTopic),
    ("apns://org.example.app/planted?environment=production", .badDeviceToken),
    ("apns://org.example.app/\(token)0?environment=production", .badDeviceToken),
    ("apns://org.example.app/abcd?environment=production", .badDeviceToken),
    ("apns://org.example.app?environment=production", .badDeviceToken),
    ("ntfy+http://ntfy.example/planted", .plainHTTP),
    ("ntfy+https://ntfy.example/", .badServer),
    ("ntfy+https://ntfy.example/a/planted", .badServer),
    ("ntfy+https://planted:pass@ntfy.example/a", .badServer),
    ("ntfy+https://ntfy.example/planted?x=1", .badServer),
    ("ntfy+https://ntfy.example/pl%C3%A4nted", .badNtfyTopic),
    ("ntfy+https://ntfy.example/a#plant ed", .badAccessToken),
    ("ntfy+https://ntfy.example/a#", .badAccessToken),
    ("webhook+https:///planted#0123456789abcdef", .badURL),
    ("webhook+https://a:99999999/planted#0123456789abcdef", .badURL),
    ("webhook+https://user:planted@a/b#0123456789abcdef", .badURL),
    ("webhook+httpx://a/planted#0123456789abcdef", .badURL),
    ("webhook+http://hooks.example/planted#0123456789abcdef", .plainHTTP),
    ("webhook+https://hooks.example/planted", .missingSecret),
    ("webhook+https://hooks.example/planted#short", .missingSecret),
    ("webhook+https://hooks.example/" + String(repeating: "a", count: 4_096), .tooLong),
  ]) func badOnesAreRefusedWithoutQuoting(text: String, code: PushAddressError.Code) {
    #expect {
      try PushAddress(text: text)
    } throws: { error in
      let error = error as? PushAddressError
      return error?.code == code && error?.description.contains("planted") == false
    }
  }

  @Test func everyErrorSaysSomethingOfItsOwn() {
    let texts = PushAddressError.Code.allCases.map { PushAddressError($0).description }
    #expect(Set(texts).count == texts.count)
  }

  @Test func noTextTraps() {
    let pieces = [
      "apns://", "ntfy+https://", "webhook+https://", "?", "#", "/", ":", "@", "[", "]", "%", "%zz",
      "a", "\u{0}", "ü", "=", "&", "environment", "99999999999999999999", "[::1]",
    ]
    var generator = TestSeeds.generator(standard: 1)
    for _ in 0..<5_000 {
      let count = Int.random(in: 0...9, using: &generator)
      let text = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
      guard let address = try? PushAddress(text: text) else { continue }
      #expect((try? PushAddress(text: address.text.reveal())) == address, "\(text)")
    }
  }
}
