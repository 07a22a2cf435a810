import PushNotices
import Testing

/// The names of notices, and what is shown of a secret.
@Suite struct PushNoticeTests {
  @Test func idsAreWhatEveryProviderTakes() {
    #expect(PushNoticeID("a-Z_09")?.text == "a-Z_09")
    #expect(PushNoticeID(String(repeating: "a", count: 64)) != nil)
    for bad in ["", "a b", "ä", "a/b", String(repeating: "a", count: 65)] {
      #expect(PushNoticeID(bad) == nil, "\(bad)")
    }
  }

  @Test func linksEscapeWhatIsNotTheirPath() {
    #expect(DeepLink.session("s-1") == "cospool://session/s-1")
    #expect(DeepLink.approval("a/ü?") == "cospool://approval/a%2F%C3%BC%3F")
    #expect(DeepLink.question("q") == "cospool://question/q")
  }

  @Test func aSecretShowsNothingOfItself() {
    let secret = Secret("planted-secret-1")
    var dumped = ""
    dump([secret], to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
      #expect(!text.contains("planted"), "\(text)")
    }
    #expect(secret.reveal() == "planted-secret-1")
  }
}
