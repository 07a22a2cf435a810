import Testing

@testable import SyncClient

@Suite struct ServerAddressTests {
  @Test(arguments: [
    ("ws://example.org", true), ("ws://8.8.8.8:7420", true), ("ws://[2606:4700::1111]:7420", true),
    ("ws://localhost.example.org", true), ("ws://2130706433", true), ("wss://example.org", false),
    ("ws://127.0.0.1:7420", false), ("ws://localhost:7420", false), ("ws://[::1]", false),
    ("ws://192.168.1.5", false), ("ws://100.101.102.103", false), ("ws://[fd7a::1]:1", false),
    ("ws://desk.local", false), ("ws://cospool.internal", false),
  ])
  func theAddressShowsWhetherTrafficIsReadable(url: String, isExposed: Bool) throws {
    #expect(try ServerAddress(url).isExposed == isExposed)
  }

  /// Accepted hosts appear in commands that users paste into a shell.
  @Test func aHostIsANameOrANumber() throws {
    for url in [
      "wss://a:99999", "wss://a:0", "wss://a;b", "wss://a'b", "wss://a b", "wss://a%20b",
      "wss://a$b", "wss://", "wss://a/b c", "wss://a/b;c", "wss://a/%41", "wss://a/../b",
      "wss://a/b//c",
      "wss://a//", "wss://a/b?c", "wss://a/b#c", "wss://a/\(String(repeating: "b", count: 200))",
    ] {
      #expect(throws: ClientError.invalidServerURL(url)) { try ServerAddress(url) }
    }
    #expect(
      try ServerAddress("wss://my_desk-1.example.org:7420").url
        == "wss://my_desk-1.example.org:7420")
    #expect(try ServerAddress("ws://[fe80::1%25eth0]:1").port == 1)
  }

  // Review of public cases, M5.
  @Test(arguments: [
    ("wss://a", ""), ("wss://a/", ""), ("wss://a/v1/sync", ""), ("wss://a/cospool", "/cospool"),
    ("wss://a/cospool/", "/cospool"), ("wss://a/cospool/v1/sync", "/cospool"),
    ("wss://a/my-apps/cospool_2.x", "/my-apps/cospool_2.x"),
  ])
  func aProxyMayServeItBelowAFolder(url: String, folder: String) throws {
    let address = try ServerAddress(url)
    #expect(address.folder == folder && address.url == "wss://a:443\(folder)")
    #expect(try ServerAddress(address.url) == address)
  }

  @Test func anExposedServerIsAskedOnlyIfThatIsAllowed() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let error = await #expect(throws: ClientError.self) {
        try await client.pair(server: "ws://192.0.2.1:9", code: "BBBB-BBBB")
      }
      #expect(error == .notEncrypted(server: "ws://192.0.2.1:9"))
      #expect(error?.description.contains("--insecure") == true)
      await client.close()
    }
  }
}
