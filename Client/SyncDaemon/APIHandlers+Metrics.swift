import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import Observability
import QueueModel
import SyncClient

extension APIHandlers {
  // MARK: - Metrics

  func addMetricsRoutes(to api: RouterGroup<Context>) {
    api.get("metrics") { _, _ in
      let page = await DeviceMetrics(client: client, status: try await status()).page()
      return Response(
        status: .ok,
        headers: [.contentType: MetricsPage.contentType, .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }
  }
}

/// The daemon's metrics. All of them are computed on request; nothing is counted in the meantime.
private struct DeviceMetrics {
  let client: QueueClient
  let status: StatusAnswer

  func page() async -> String {
    let sync = status.sync
    var page = MetricsPage()
    page.build("cospool_device_build", version: status.daemon.version)
    page.gauge(
      "cospool_device_sync_state", "1 for the state of the connection.", by: "state",
      SyncStatus.State.allCases.map { ($0.rawValue, $0 == sync.state ? 1 : 0) })
    page.gauge(
      "cospool_device_unsent_changes", "Changes that the server does not have yet.", sync.outgoing)
    page.gauge(
      "cospool_device_unsent_age_seconds",
      "The time since which the server lacks changes; absent if it is unknown.",
      unsentAge)
    page.gauge(
      "cospool_device_last_sync_time_seconds",
      "The last time when everything was in sync, since 1970.",
      sync.lastSyncedAt.map { Double($0.milliseconds) / 1_000 })
    page.counter(
      "cospool_device_repairs", "How many times a copy of the running daemon was found.",
      sync.repairs)
    page.gauge("cospool_device_sessions", "Sessions.", status.queues.sessions)
    page.gauge("cospool_device_messages_waiting", "Waiting messages.", status.queues.messages)
    page.gauge("cospool_device_threads", "Threads in the queue.", status.queues.threads)
    page.gauge(
      "cospool_device_threads_ready", "Threads that are ready.", status.queues.threadsReady)
    page.gauge("cospool_device_requests", "Waiting requests of agents.", status.queues.awaited)
    await addAgents(to: &page)
    return page.text
  }

  private func addAgents(to page: inout MetricsPage) async {
    let counts = await client.execution.counts()
    page.gauge(
      "cospool_device_agents_running", "Agents that are running here.",
      await client.execution.running().count)
    var byState: [TaskStatus.Kind: Int] = [:]
    let workspace = client.workspace()
    for session in workspace.sessions() {
      let kind = workspace.task(of: session.id)?.status.kind ?? .idle
      byState[kind, default: 0] += 1
    }
    page.gauge(
      "cospool_device_tasks", "Sessions, on all devices, by what their agent does.", by: "state",
      TaskStatus.Kind.allCases.map { ($0.rawValue, byState[$0] ?? 0) })
    page.counter("cospool_device_agent_starts", "Agents that this device started.", counts.starts)
    page.counter(
      "cospool_device_leases_lost", "Leases that this device lost.", counts.fenced)
    page.counter(
      "cospool_device_unknown_outcomes", "Attempts with an unknown outcome.",
      counts.unknown)
  }

  private var unsentAge: Double? {
    guard status.sync.outgoing > 0 else { return 0 }
    return status.oldestUnsentAt.map { max(0, Double(client.time - $0.milliseconds) / 1_000) }
  }
}
