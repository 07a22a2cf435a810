import Foundation
import Testing

@testable import PushNotices

/// PRIVACY.md and SETTING-UP.md have the same figures, names and forms as the code.
@Suite struct PushDocumentTests {
  /// A document of the push room, its lines joined.
  private func text(_ name: String) throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Server/PushDelivery/\(name)"), encoding: .utf8)
  }

  private func sentences(_ name: String) throws -> String {
    try text(name).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test func privacySaysHowMuchIsShown() throws {
    let privacy = try sentences("PRIVACY.md")
    for phrase in [
      "at most \(PushLimits.shownCharactersMax) characters",
      "at most \(NoticeText.detailsCharactersMax.formatted(.number.locale(Locale(identifier: "en_US")))) characters",
    ] {
      #expect(privacy.contains(phrase), "\(phrase)")
    }
  }

  @Test func settingUpSaysHowOftenAndByWhichNames() throws {
    let settingUp = try sentences("SETTING-UP.md")
    let limit = PushLimits.requestDeadline.components.seconds
    #expect(settingUp.contains("none within \(limit) seconds"))
    #expect(settingUp.contains("at most \(BackoffSchedule.standard.attemptsMax) times in a day"))
    #expect(BackoffSchedule.standard.spanMilliseconds == 86_400_000)
    #expect(settingUp.contains("attributes type `\(CospoolTaskAttributes.self)`"))
    for category in PushNotice.Category.allCases {
      #expect(settingUp.contains("`\(category.rawValue)`"), "\(category)")
    }
    for status in ActivityContent.Status.allCases {
      #expect(settingUp.contains("`\(status.rawValue)`"), "\(status)")
    }
    for outcome in ActivityContent.Outcome.allCases {
      #expect(settingUp.contains("`\(outcome.rawValue)`"), "\(outcome)")
    }
  }

  @Test func theStateOfALiveActivityReadsAsWritten() throws {
    let blocks = try text("SETTING-UP.md").split(separator: "```json\n").dropFirst()
      .map { $0.prefix(while: { $0 != "`" }) }
    let sample = try #require(blocks.first { $0.contains("awaitingAnswer") })
    let content = try JSONDecoder().decode(ActivityContent.self, from: Data(sample.utf8))
    #expect(content.status == .awaitingAnswer && content.options == ["SQLite", "Postgres"])
    #expect(content.progress == .init(completed: 2, total: 5, currentTask: "Tests"))
    #expect(content.requestId != nil && content.question == "Which database?")
  }
}
