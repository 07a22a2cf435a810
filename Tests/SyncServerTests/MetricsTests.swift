import Foundation
import NIOCore
import NIOPosix
import Testing
import WireProtocol

@testable import SyncServer

/// The metrics of a running server, and everything that uses their names.
@Suite struct MetricsTests {
  private static func page(_ fixture: ServerFixture, path: String = "/metrics") async throws
    -> String
  {
    let port = try #require(fixture.server.metricsPort)
    return try await PlainRequest.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", port)
  }

  private static func value(_ name: String, in page: String) -> Double? {
    page.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + " ") }
      .flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  @Test func eventsAreCounted() async throws {
    try await ServerFixture.with({ $0.metrics = MetricsAddress("0") }) { fixture in
      let before = try await Self.page(fixture)
      #expect(before.hasPrefix("HTTP/1.1 200 OK"))
      #expect(before.contains("application/openmetrics-text"))
      #expect(before.hasSuffix("# EOF\n"))
      #expect(Self.value("cospool_server_commit_batches_count", in: before) == 0)
      #expect(Self.value("cospool_server_healthy", in: before) == 1)
      // An increase is visible from zero on.
      for name in [
        "refusals_total{code=\"\(RefusalCode.unauthorized.name)\"}",
        "pushes_total{outcome=\"rejected\"}", "pushes_total{outcome=\"configurationError\"}",
      ] {
        #expect(Self.value("cospool_server_" + name, in: before) == 0, "\(name)")
      }

      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      for text in ["one", "two"] {
        try await client.send(try device.write(text))
        _ = try await client.frame { if case .ack(_) = $0 { true } else { false } }
      }
      var stranger = device
      stranger.token = Array(repeating: 1, count: 32)
      let refused = try await RawClient.connect(port: fixture.server.port)
      try await refused.send(.hello(stranger.hello))
      _ = try await refused.frame { if case .refused(_) = $0 { true } else { false } }
      let after = try await Self.page(fixture)
      #expect(Self.value("cospool_server_connections", in: after) ?? 0 >= 1)
      #expect(Self.value("cospool_server_commit_batches_sum", in: after) == 2)
      #expect(Self.value("cospool_server_log_bytes_total", in: after) ?? 0 > 0)
      #expect(Self.value("cospool_server_commit_seconds_sum", in: after) ?? 0 > 0)
      #expect(
        Self.value(
          "cospool_server_refusals_total{code=\"\(RefusalCode.unauthorized.name)\"}", in: after)
          == 1)
      #expect(Self.value("cospool_server_disk_free_bytes", in: after) ?? 0 > 0)
      #expect(try await Self.page(fixture, path: "/other").hasPrefix("HTTP/1.1 404"))
      // The devices' port serves none.
      #expect(try await fixture.get("/metrics").status.contains("404"))
      await client.close()
      await refused.close()
    }
  }

  /// A stranger's page with a name that leads to this port requests that name.
  @Test func aReboundNameReadsNoNumbers() async throws {
    for host in [
      "localhost", "localhost:9420", "server:9420", "127.0.0.1", "127.0.0.1:1", "[::1]:9420", "::1",
      "10.0.0.5:9420", "numbers.example.org:9420", "Numbers.Example.org",
    ] { #expect(MetricsAddress.isOwn(host, boundTo: "numbers.example.org"), "\(host)") }
    for host in [
      "evil.com", "evil.com:9420", "127.0.0.1.evil.com", "1.2.3", "evil.com.", "[::1].evil.com",
    ] { #expect(!MetricsAddress.isOwn(host, boundTo: "127.0.0.1"), "\(host)") }
    try await ServerFixture.with({ $0.metrics = MetricsAddress("0") }) { fixture in
      let port = try #require(fixture.server.metricsPort)
      for fields in ["Host: evil.com", "Host: localhost\r\nHost: evil.com"] {
        let answer = try await PlainRequest.send("GET /metrics HTTP/1.1\r\n\(fields)\r\n\r\n", port)
        #expect(
          !answer.hasPrefix("HTTP/1.1 200") && !answer.contains("cospool_server_"), "\(answer)")
      }
    }
  }

  /// Clients that open connections without requests are limited, and take no connections from
  /// devices.
  @Test func aFloodOfReadersTakesOnlySoManyConnections() async throws {
    try await ServerFixture.with({ $0.metrics = MetricsAddress("0") }) { fixture in
      let port = try #require(fixture.server.metricsPort)
      var idle: [any Channel] = []
      for _ in 0..<MetricsListener.connectionsMax {
        idle.append(
          try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get())
      }
      // In both cases: the server counts on several threads.
      for isRefused in [true, false] {
        let deadline = ContinuousClock.now + .seconds(8)
        var page: String
        repeat {
          page = try await Self.page(fixture)
        } while page.isEmpty != isRefused
          && ContinuousClock.now < deadline
        #expect(page.isEmpty == isRefused)
        for channel in idle { channel.close(promise: nil) }
        idle = []
      }
    }
  }

  /// A watched metric has a value even while something is wrong.
  @Test func backupsThatAreMissingHaveANumber() async throws {
    let name = "cospool_server_last_backup_time_seconds"
    try await ServerFixture.with({ $0.metrics = MetricsAddress("0") }) { fixture in
      #expect(Self.value(name, in: try await Self.page(fixture)) == nil)
      let folder = fixture.directory + "-backup"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try BackupPlace(folder: folder).write(directory: fixture.directory)
      #expect(Self.value(name, in: try await Self.page(fixture)) == 0)
      #expect(mkdir(folder, 0o700) == 0)
      try Data().write(to: URL(filePath: folder + "/backup.lock"))
      #expect(Self.value(name, in: try await Self.page(fixture)) == 0)
      let backup = try ServerBackup(dataDirectory: fixture.directory, folder: nil)
      let made = try backup.create(at: 1_700_000_000_000).backup
      #expect(Self.value(name, in: try await Self.page(fixture)) == 1_700_000_000)
      // It is read for every request, without opening the backup; a backup of a wrong clock does
      // not count.
      _ = try backup.create(
        at: Int64(Date(timeIntervalSinceNow: 86_400).timeIntervalSince1970) * 1_000)
      try Data().write(to: URL(filePath: "\(folder)/\(made.name).json"))
      #expect(Self.value(name, in: try await Self.page(fixture)) == 1_700_000_000)
    }
  }

  @Test func theCertificateThatIsServedIsWatched() async throws {
    let folder = NSTemporaryDirectory() + "cospool-certificate-" + UUID().uuidString
    #expect(mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let known = TestCertificate.localhost
    let (chain, key) = (folder + "/chain.pem", folder + "/key.pem")
    try FileManager.default.copyItem(atPath: known.chainFile, toPath: chain)
    try FileManager.default.copyItem(atPath: known.keyFile, toPath: key)
    try await ServerFixture.with({
      $0.metrics = MetricsAddress("0")
      $0.certificate = ServerCertificate(chainFile: chain, keyFile: key)
    }) { fixture in
      try Data("half of one".utf8).write(to: URL(filePath: chain))
      let ends = Self.value(
        "cospool_server_certificate_expiry_time_seconds", in: try await Self.page(fixture))
      #expect(ends == known.endsAt.map(Double.init))
    }
  }

  @Test func thePortIsThisMachinesUnlessSaidOtherwise() {
    #expect(MetricsAddress("9420") == MetricsAddress(host: "127.0.0.1", port: 9_420))
    #expect(MetricsAddress("10.0.0.5:9420") == MetricsAddress(host: "10.0.0.5", port: 9_420))
    #expect(MetricsAddress("[::1]:1") == MetricsAddress(host: "::1", port: 1))
    for text in ["", "x", "70000", "::1:9420", ":1", "h:", "h:70000", "-1"] {
      #expect(MetricsAddress(text) == nil, "\(text)")
    }
  }

  private static func names(in text: String) -> Set<String> {
    Set(
      text.matches(of: #/cospool_[a-z_]+/#).map { match in
        var name = String(match.output)
        for suffix in ["_total", "_bucket", "_sum", "_count", "_info"] where name.hasSuffix(suffix)
        {
          name.removeLast(suffix.count)
        }
        return name
      })
  }

  /// The dashboard and the alert rules use metrics that exist. Those of devices:
  /// `DeviceMetricsTests`.
  @Test(arguments: ["dashboard.json", "alerts.yaml"])
  func watchedMetricsAreServed(file: String) async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Server/Monitoring/\(file)")
    let text = try String(contentsOf: path, encoding: .utf8)
    if file.hasSuffix(".json") { _ = try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    let asked = Self.names(in: text).filter { !$0.hasPrefix("cospool_device_") }
    #expect(asked.count >= 5)
    try await ServerFixture.with({ $0.metrics = MetricsAddress("0") }) { fixture in
      let page = try await Self.page(fixture)
      let served = Self.names(in: page.components(separatedBy: "\r\n\r\n").last ?? "")
      #expect(asked.subtracting(served) == [])
    }
  }
}
