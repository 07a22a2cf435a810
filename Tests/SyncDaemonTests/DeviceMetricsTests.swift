import Foundation
import Testing

@testable import SyncDaemon

/// The metrics of a daemon, on its socket.
@Suite(.timeLimit(.minutes(5))) struct DeviceMetricsTests {
  @Test func waitingMessagesAreCounted() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await daemon.request(
        "POST", "/v1/sessions/planted-session/queue", #"{"text":"the planted prompt"}"#)
      #expect(sent.status == 201 || sent.status == 200)
      let reply = try await daemon.request("GET", "/v1/metrics")
      #expect(reply.status == 200)
      let page = reply.body
      #expect(page.contains("cospool_device_messages_waiting 1\n"))
      #expect(page.contains("cospool_device_sync_state{state=\"notPaired\"} 1\n"))
      #expect(page.contains("cospool_device_tasks{state=\"idle\"} 1\n"))
      #expect(page.hasSuffix("# EOF\n"))
      // They contain numbers, and none of the users' texts.
      #expect(!page.contains("planted"))
    }
  }

  private static func names(in text: String) -> Set<String> {
    Set(text.matches(of: /cospool_device_[a-z_]+/).map { String($0.output) })
  }

  /// The dashboard uses only metrics that exist.
  @Test func watchedMetricsAreServed() async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Server/Monitoring/dashboard.json")
    let asked = Self.names(in: try String(contentsOf: path, encoding: .utf8))
    #expect(asked.count >= 3)
    try await RunningDaemon.run { daemon in
      let page = try await daemon.request("GET", "/v1/metrics").body
      let samples = page.split(separator: "\n").filter { !$0.hasPrefix("#") }
      #expect(asked.subtracting(Self.names(in: samples.joined(separator: "\n"))) == [])
    }
  }

  /// node_exporter's textfile collector reads Prometheus' older format, which has no `info`.
  /// OPERATIONS.md removes those lines, so there must be no other type that the format lacks.
  @Test func theTextfileCollectorKnowsAllKindsButInfo() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await daemon.request("GET", "/v1/metrics").body
      let kinds = page.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
        .compactMap { $0.split(separator: " ").last }
      #expect(Set(kinds).isSubset(of: ["counter", "gauge", "histogram", "info"]), "\(kinds)")
    }
  }
}
