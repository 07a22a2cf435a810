import Foundation
import Testing

@testable import SyncCommand

/// HOOKING-UP.md has the tools and figures of the code.
@Suite struct HookingUpDocumentTests {
  @Test func toolsAndFiguresAreThoseOfTheCode() throws {
    let text = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Client/SyncDaemon/HOOKING-UP.md"), encoding: .utf8)
    let joined = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let tools = try #require(joined.firstMatch(of: #/Tools: (`[^.]*`)\./#)).1
    #expect(
      tools.matches(of: #/`(\w+)`/#).map { String($0.1) }.sorted()
        == MCPTools.all.map(\.name).sorted())
    #expect(HookFeed.claudeBlocksMax - 1 == 7 && MCPServer.keysMax == 1_000)
    #expect(MCPSurroundings.patienceSecondsDefault == 300)
    for phrase in [
      "So the hook gives it seven", "the latest 1,000 keys",
      "within five minutes",
      "Lists show the first \(MCPTools.previewMax)", "`\(HookFeed.claudeBlocksVariable)`",
    ] {
      #expect(joined.contains(phrase), "\(phrase)")
    }
  }
}
