import PushNotices
import Testing

/// The texts of notices, with and without details.
@Suite struct NoticeTextTests {
  static let events: [NoticeText.Event] = [
    .approval(tool: "Bash", summary: "planted work", details: "planted details"),
    .question("planted question?", options: ["planted yes", "planted no"]),
    .taskComplete(summary: "planted result"), .taskFailed(error: "planted error"),
    .threadReady(name: "planted name"), .messageMerged(text: "planted text"),
  ]

  @Test(arguments: events) func detailsAreOffUnlessSwitchedOn(event: NoticeText.Event) {
    let text = NoticeText(event)
    #expect(text == NoticeText.plain(event.category))
    #expect(!"\(text)".contains("planted"))
    #expect(text.details == nil)
  }

  @Test func everyCategoryHasABodyOfItsOwn() {
    #expect(Set(PushNotice.Category.allCases.map { NoticeText.plain($0).body }).count == 6)
    #expect(Set(Self.events.map(\.category)) == Set(PushNotice.Category.allCases))
  }

  @Test func withDetailsTheyTellTheWork() {
    let approval = NoticeText(Self.events[0], showsDetails: true)
    #expect(approval.body == "Bash: planted work")
    #expect(approval.details == "planted details")
    let question = NoticeText(Self.events[1], showsDetails: true)
    #expect(question.body == "planted question?")
    #expect(question.details == "planted yes\nplanted no")
    #expect(NoticeText(Self.events[3], showsDetails: true).body == "planted error")
    #expect(NoticeText(Self.events[5], showsDetails: true).body == "planted text")
    let tool = NoticeText(.approval(tool: "Bash", summary: "", details: nil), showsDetails: true)
    #expect(tool.body == "Bash")
    #expect(
      NoticeText(.taskComplete(summary: nil), showsDetails: true) == .plain(.taskComplete))
  }

  @Test func detailsAreRedactedAndCut() {
    let event = NoticeText.Event.approval(
      tool: "Bash", summary: "curl -H 'Authorization: Bearer planted'",
      details: String(repeating: "x ", count: 2_000) + "password=planted")
    let text = NoticeText(event, showsDetails: true)
    #expect(!"\(text)".contains("planted"))
    #expect(text.body.count <= PushLimits.shownCharactersMax)
    #expect(text.details?.count == NoticeText.detailsCharactersMax)
    #expect(!text.isWhole)
  }

  /// The button of a notice may approve only what the notice shows in full.
  @Test func aWholeNoticeOmitsNothing() {
    func isWhole(_ summary: String, _ details: String?, showsDetails: Bool = true) -> Bool {
      NoticeText(
        .approval(tool: "Bash", summary: summary, details: details), showsDetails: showsDetails
      ).isWhole
    }
    #expect(isWhole("make", nil) && isWhole("make", "make\nall") && isWhole("", ""))
    #expect(!isWhole("make", nil, showsDetails: false))
    #expect(!isWhole("make", String(repeating: "x ", count: 501)))
    #expect(!isWhole(String(repeating: "x ", count: 500), nil))
    #expect(!isWhole("make", "password=planted"))
  }
}
