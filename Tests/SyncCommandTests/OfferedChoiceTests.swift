import LocalAPI
import Testing

import struct Foundation.Data

@testable import SyncCommand

/// `queue show` offers exactly the texts of a merged message that can be chosen.
@Suite struct OfferedChoiceTests {
  private func shown(
    _ content: String, _ texts: [String?], status: String = "queued", attempt: Int? = nil
  ) throws -> String {
    let editions = texts.map { text in
      #"{"bytes":1,"device":"desk","savedAt":"2026-01-01T00:00:00.000Z""#
        + (attempt.map { #","attempt":\#($0)"# } ?? "")
        + (text.map { #","text":"\#($0)""# } ?? "") + "}"
    }
    let json =
      #"{"id":"11111111-1111-4111-8111-111111111111","content":"\#(content)","priority":"normal","#
      + #""status":"\#(status)","position":1,"createdAt":"2026-01-01T00:00:00.000Z","device":"desk","#
      + #""merged":true,"base":"seen","editions":[\#(editions.joined(separator: ","))]}"#
    let message = try Answer(json: Data(json.utf8)).decoded(MessageAnswer.self)
    return QueueText.show(message, style: .plain)
  }

  @Test func nothingIsOfferedThatIsRefused() throws {
    let resolve = "cospool queue resolve 11111111 "
    for (content, texts, offer) in [
      ("a b", ["a", "b"], resolve + "--take 1-MARK, or --take merged-MARK"),
      // An empty text cannot be a message, and a long one is not kept.
      ("", ["a", "b"], resolve + "--take 1-MARK"),
      (" ", [nil, "b"], resolve + "--take 2-MARK"),
      ("a b", [nil, nil], resolve + "--take merged-MARK"),
      ("", [nil, nil], "cospool queue edit 11111111"),
    ] as [(String, [String?], String)] {
      let lines = try shown(content, texts).replacing(#/-[0-9a-f]{8}\b/#, with: "-MARK")
        .split(separator: "\n")
      #expect(lines.contains { $0.hasSuffix(": " + offer) }, "\(content), \(texts): \(lines)")
    }
  }

  /// A choice of a cancelled message would be refused.
  @Test func aCancelledOneIsRestoredFirst() throws {
    let text = try shown("a b", ["a", "b"], status: "cancelled")
    #expect(text.contains("cospool queue restore 11111111") && !text.contains("queue resolve"))
  }

  @Test func theTextThatAnAgentGotIsNotAVersionOfADevice() throws {
    let text = try shown("a b", ["a", "b"], attempt: 1)
    #expect(text.contains("version 2, what the agent of attempt 1 got, 2026"))
    #expect(!text.contains("by desk"))
  }
}
