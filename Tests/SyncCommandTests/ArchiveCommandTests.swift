import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// I-360, I-361, I-362: archived sessions are listed on request, and what is used is listed always.
@Suite struct ArchiveCommandTests {
  private static let message = "11111111-1111-4111-8111-111111111111"

  @Test func anArchivedSessionIsListedOnRequestOnly() async throws {
    try await CommandFixture.run { fixture async throws in
      func names(_ arguments: String...) async throws -> [String] {
        let outcome = await CommandFixture.cospool(
          ["session", "list", "--json"] + arguments, variables: ["COSPOOL_DATA": fixture.directory])
        let overview = try JSONDecoder().decode(
          OverviewAnswer.self, from: Data(outcome.output.utf8))
        return overview.sessions.map(\.id.rawValue)
      }
      _ = await fixture.cospool("session", "add", "docs")
      _ = await fixture.cospool("session", "add", "shop")
      _ = await fixture.cospool("queue", "pause", "-s", "docs", "--reason", "holiday")
      #expect(
        await fixture.cospool("session", "list", "--archived").output == "no archived sessions")
      #expect(await fixture.cospool("session", "archive", "docs").output == "archived docs")
      #expect(try await names() == ["shop"])
      #expect(try await names("--archived") == ["docs"])
      let listed = await fixture.cospool("session", "list").output
      #expect(listed.hasSuffix("\n1 archived: cospool session list --archived"), "\(listed)")
      #expect(
        await fixture.cospool("overview").output.contains(
          "; 1 archived: cospool session list --archived"))
      // It is there by its name, and paused as before.
      let sent = await fixture.cospool("send", "-s", "docs", "write more")
      #expect(sent.output.hasPrefix("queued, position 1 of 1"), "\(sent)")
      #expect(try await names() == ["docs", "shop"])
      #expect(await fixture.cospool("queue", "list", "-s", "docs").output.contains("holiday"))
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(try await names() == ["shop"])
    }
  }

  @Test func aSessionInUseIsNotArchived() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "docs", "--id", Self.message, "write")
      let refused = await fixture.cospool("session", "archive", "docs")
      #expect(refused.exitCode != 0)
      #expect(
        refused.errors.contains(
          "1 message waits in docs, so it cannot be archived. Let it run, cancel it, or move it"),
        "\(refused)")
      _ = await fixture.cospool("queue", "cancel", Self.message)
      #expect(await fixture.cospool("session", "archive", "docs").exitCode == 0)
      let unknown = await fixture.cospool("session", "archive", "dosc")
      #expect(unknown.errors.contains("Did you mean docs?"), "\(unknown)")
    }
  }
}
