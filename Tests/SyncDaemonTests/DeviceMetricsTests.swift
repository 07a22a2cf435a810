import Foundation
import Testing

@testable import SyncDaemon

/// The numbers of a daemon, on its socket.
@Suite(.timeLimit(.minutes(5))) struct DeviceMetricsTests {
  @Test func whatWaitsIsCounted() async throws {
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
      // Numbers, and nothing of what people wrote.
      #expect(!page.contains("planted"))
    }
  }
}
