import ArgumentParser
import Foundation
import Testing

@testable import SyncCommand

/// `cospool output`
@Suite struct OutputCommandTests {
  private static let names = SessionNames(sessions: [], folder: "/")

  private func path(_ words: String...) throws -> String {
    var command = try #require(try Cospool.parseAsRoot(["output"] + words) as? OutputCommand)
    try command.lookUp(in: Self.names)
    return try command.request(input: StandardInput { [] }).path
  }

  @Test func aNameThatIsNoSessionIsAMessage() throws {
    #expect(try path("3f2a") == "messages/3f2a/output")
    #expect(try path("3f2a", "--attempt", "2") == "messages/3f2a/output?attempt=2")
  }

  @Test func onlyWhatIsThereIsShown() throws {
    let command = try #require(try Cospool.parseAsRoot(["output", "a"]) as? OutputCommand)
    let json =
      #"{"attempt":1,"text":"one\u001b[2J\ntwo\n","truncated":true,"running":false,"next":9,"#
      + #""message":"11111111-1111-4111-8111-111111111111"}"#
    let answer = Answer(json: Data(json.utf8))
    #expect(try command.text(of: answer, style: .plain) == "one\u{FFFD}[2J\ntwo")
    #expect(command.warning(of: answer) == "cospool: its beginning is not kept")
  }
}
