import Foundation
import Testing

@testable import SyncCommand

@Suite(.timeLimit(.minutes(10))) struct WebCommandTests {
  @Test func pageIsOpenedListedRevokedAndTurnedOff() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("web", "status").output.contains("the page is not served"))
      let link = await fixture.cospool("web", "--print", "--port", "0")
      #expect(link.exitCode == 0, "\(link)")
      let url = try #require(URL(string: link.output))
      #expect(url.host() == "127.0.0.1" && url.fragment()?.hasPrefix("t=") == true)
      let status = await fixture.cospool("web", "status").output
      #expect(status == "served on http://127.0.0.1:\(url.port ?? 0)\nno browser has a key")
      let nobody = await fixture.cospool("web", "revoke", "nobody")
      #expect(nobody.exitCode == 1 && nobody.errors.contains("cospool web status shows them"))
      #expect(await fixture.cospool("web", "off").output.contains("the page is not served"))
      #expect(await fixture.cospool("web", "--port", "x").exitCode == 2)
      #expect(await fixture.cospool("web", "--port", "70000").exitCode == 2)
    }
  }

  /// Every user can read the arguments of a process, so the link is passed in a private file.
  @Test func browserGetsAPrivateFile() async throws {
    try await CommandFixture.run { fixture in
      let opened = await CommandFixture.cospool(
        ["web", "--port", "0"], variables: ["COSPOOL_DATA": fixture.directory, "BROWSER": "true"])
      #expect(opened.exitCode == 0, "\(opened)")
      let link = try #require(opened.output.split(separator: "\n").last)
      let path = fixture.directory + "/" + WebBrowser.fileName
      #expect(try String(contentsOfFile: path, encoding: .utf8).contains("url=\(link)\""))
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      // Without a screen, it is printed.
      let printed = await fixture.cospool("web")
      #expect(printed.output.hasPrefix("http://127.0.0.1:"))
    }
  }
}
