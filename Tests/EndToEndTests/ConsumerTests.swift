import Testing

extension EndToEnd {
  /// An app that uses only the public API (`Tests/Consumer`), with a real server.
  @Suite struct ConsumerTests {
    @Test func anAppDoesWithTheProductsWhatADaemonDoes() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (desk, phone) = (try await server.code(), try await server.code())
        let output = try await bed.run(
          "cospool-consumer", [server.url, desk, phone, bed.path("app")], within: 150
        ).succeeded()
        #expect(output.standardOutput.hasPrefix("consumer: sent, observed"), "\(output)")
      }
    }
  }
}
