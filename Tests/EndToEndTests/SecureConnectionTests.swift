import Foundation
import Testing

extension EndToEnd {
  /// The executables over TLS.
  @Suite struct SecureConnectionTests {
    private static func certificate(_ name: String) -> String {
      Executables.root.appending(path: "Tests/SyncServerTests/Certificates/\(name).pem")
        .path(percentEncoded: false)
    }

    private func serve(_ bed: TestBed) async throws -> (url: String, code: String) {
      let process = try bed.start(
        "cospool-server",
        [
          "serve", "--data", bed.path("server"), "--port", "0",
          "--certificate", Self.certificate("localhost"), "--key",
          Self.certificate("localhost.key"),
        ])
      let line = try await process.line(holding: "listening on wss://")
      let url = try #require(line.firstMatch(of: #/wss://\S+/#)).output
      let hint = try await bed.run("cospool-server", ["pair", "--data", bed.path("server")])
        .succeeded().standardOutput
      let command = try #require(hint.firstMatch(of: #/cospool pair (wss:\S+) (\S+)/#))
      #expect(command.1 == url)
      return (String(url), String(command.2))
    }

    @Test func deviceSyncsOverTLS() async throws {
      try await TestBed.run { bed in
        let (url, code) = try await serve(bed)
        let a = Device(bed, "a")
        try await a.start(["--certificate", Self.certificate("localhost")])
        try await a.send("s", "over TLS")
        try await a.pair(url: url, code: code)
        try await a.synchronise()
        #expect(try await a.status().outgoing == 0)
        let status = try await a.cospool("status")
        #expect(status.contains(#/certificate +of the server, good for \d+ days/#), "\(status)")
        #expect(status.contains(#/data .* MiB free on the disk/#), "\(status)")
        #expect(status.contains(#/daemon .* up for \d/#), "\(status)")
        try await a.stop()
        // Without the root it shows the reason, and the queues still work.
        try await a.start()
        try await bed.eventually("it says that the certificate is not trusted") {
          try await a.status().lastError?.contains("not trusted") ?? false
        }
        try await a.send("s", "meanwhile")
        #expect(try await a.contents("s") == ["over TLS", "meanwhile"])
        let alone = try await a.cospool("status")
        #expect(alone.contains(#/to send, the oldest from (now|\d+s ago)/#), "\(alone)")
        #expect(!alone.contains(#/certificate +of the server/#))
      }
    }

    @Test func anExpiredCertificateIsNamedAndRenewingItHelps() async throws {
      try await TestBed.run { bed in
        func install(_ name: String) throws {
          for (from, to) in [(name, "leaf"), (name + ".key", "leaf.key")] {
            try Data(contentsOf: URL(filePath: Self.certificate(from))).write(
              to: URL(filePath: bed.path(to + ".pem")), options: .atomic)
          }
        }
        func serve(port: Int) async throws -> (process: ChildProcess, url: String) {
          let process = try bed.start(
            "cospool-server",
            [
              "serve", "--data", bed.path("server"), "--port", "\(port)", "--certificate",
              bed.path("leaf.pem"), "--key", bed.path("leaf.key.pem"),
            ])
          let line = try await process.line(holding: "listening on wss://")
          return (process, String(try #require(line.firstMatch(of: #/wss://\S+/#)).output))
        }
        let roots = try ["localhost", "expired"].map {
          try String(contentsOfFile: Self.certificate($0), encoding: .utf8)
        }
        try roots.joined().write(
          toFile: bed.path("roots.pem"), atomically: true, encoding: .utf8)
        try install("localhost")
        let (first, url) = try await serve(port: 0)
        let hint = try await bed.run("cospool-server", ["pair", "--data", bed.path("server")])
          .succeeded().standardOutput
        let code = try #require(hint.firstMatch(of: #/cospool pair wss:\S+ (\S+)/#)).1
        let a = Device(bed, "a")
        try await a.start(["--certificate", bed.path("roots.pem")])
        try await a.cospool("config", "set", "certificate", bed.path("roots.pem"))
        try await a.pair(url: url, code: String(code))
        try await a.synchronise()

        first.send(SIGTERM)
        try await first.ended()
        try install("expired")
        _ = try await serve(port: try #require(URL(string: url)?.port))
        try await a.send("s", "meanwhile")
        let ill = try await a.attempt("doctor", "--json")
        #expect(ill.code == 1, "\(ill)")
        #expect(
          ill.standardOutput.contains(#"{"code":"certificateDays","fix":"Ask the server's"#),
          "\(ill)")
        // The server reloads changed files automatically.
        try install("localhost")
        try await bed.eventually("the device is connected again") {
          try await a.status().outgoing == 0
        }
        let well = try await a.attempt("doctor", "--json")
        #expect(
          well.standardOutput.contains(#""code":"certificateDays","severity":"ok""#), "\(well)")
      }
    }

    @Test func environmentNamesTheCertificate() async throws {
      try await TestBed.run { bed in
        let (url, code) = try await serve(bed)
        let a = Device(bed, "a")
        let daemon = try bed.launch(
          try Executables.path(of: "cospoold"), ["--data", a.data], name: "a cospoold",
          environment: ["COSPOOL_CERTIFICATE": Self.certificate("localhost")])
        _ = try await daemon.line(holding: "ready on")
        try await a.pair(url: url, code: code)
        try await a.synchronise()

        let wrong = try bed.launch(
          try Executables.path(of: "cospoold"), ["--data", bed.path("b")], name: "b cospoold",
          environment: ["COSPOOL_CERTIFICATE": "/no/such.pem"])
        #expect(try await wrong.ended() == .code(2))
        #expect(wrong.standardError.contains("/no/such.pem"))
      }
    }

    @Test func wrongCertificateOptionsEndTheServer() async throws {
      try await TestBed.run { bed in
        let data = ["--data", bed.path("server"), "--port", "0"]
        let alone = try await bed.run(
          "cospool-server", ["serve", "--certificate", "c.pem"] + data)
        #expect(alone.code == 2)
        let mismatch = try await bed.run(
          "cospool-server",
          [
            "serve", "--certificate", Self.certificate("localhost"), "--key",
            Self.certificate("other.key"),
          ] + data)
        #expect(mismatch.code == 1, "\(mismatch)")
        #expect(mismatch.standardError.contains("other.key.pem"), "\(mismatch)")
      }
    }
  }
}
