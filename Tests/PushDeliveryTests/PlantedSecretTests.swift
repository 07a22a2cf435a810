import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// No description, dump or report shows a key, a token or a shared secret.
@Suite struct PlantedSecretTests {
  static let secrets = [
    "planted-webhook-secret", "private/hook", "tk_planted0", "private-topic", "planted-answer-key",
    PushBed.deviceToken,
  ]

  @Test func descriptionsDumpsAndOutcomesHoldNone() async throws {
    let answering = try NtfyAnswering(
      server: "https://answers.example/", key: Secret("planted-answer-key"))
    try await PushBed.with(deadline: .seconds(1), answering: answering) { bed in
      let signingKey = try APNsSigningKey(
        pem: Secret(bed.key.pem), keyID: bed.key.keyID, teamID: bed.key.teamID)
      let configuration = PushConfiguration(
        apns: try APNsConfiguration(key: signingKey, topics: [PushBed.topic]),
        answering: answering)
      let targets = [
        bed.device(), bed.device(purpose: .liveActivity),
        try bed.target(NtfySenderTests.address(bed)),
        try bed.target(WebhookSenderTests.address(bed)),
      ]
      var shown: [String] = []
      Self.show(configuration, in: &shown)
      Self.show(targets, in: &shown)
      Self.show(targets.map(\.address.text), in: &shown)
      Self.show(bed.sender, in: &shown)
      for target in targets {
        // A provider may quote what it was sent.
        let echo = Self.secrets.filter(target.address.text.reveal().contains).joined(separator: " ")
        for answer in Self.answers(quoting: echo) {
          bed.apns.answer(always: answer)
          bed.web.answer(always: answer)
          for push in [Push.alert(try PushBed.notice()), try PushBed.activity(.update)] {
            Self.show(
              await bed.sender.send(push, to: target, ignoringStop: true), in: &shown)
          }
        }
      }
      let key = bed.key.pem.split(separator: "\n").dropFirst().first.map(String.init) ?? ""
      #expect(key.count > 20)
      for text in shown {
        for secret in Self.secrets + [key] {
          #expect(!text.contains(secret), "\(secret) stands in \(text)")
        }
        for token in bed.apns.tokens { #expect(!text.contains(token)) }
      }
      #expect(shown.count > 60)
    }
  }

  private static func answers(quoting echo: String) -> [FakeAnswer] {
    [
      .status(200, body: #"{"id":"\#(echo)"}"#), .status(400, body: #"{"error":"\#(echo)"}"#),
      .status(403, body: #"{"reason":"\#(echo)"}"#), .status(410, body: echo), .reset, .close,
      .goAway, .silence, .status(302, headers: [("Location", "https://x/?\(echo)")]),
    ]
  }

  private static func show(_ value: Any, in shown: inout [String]) {
    var dumped = ""
    dump(value, to: &dumped)
    shown += [dumped, "\(value)", String(reflecting: value)]
  }
}
