import Observability
import ProcessResources
import ServerCore
import ServerStore
import WireProtocol

/// The server's counters: integers on its event loop, read on request.
struct ServerMetrics {
  let startedAt = ProcessClock.wallMilliseconds
  var connectionsOpened = 0
  /// By the codes of SPECIFICATION.md, section "Refusals".
  var refusals = Dictionary(uniqueKeysWithValues: ServerMetrics.refusalCodes.map { ($0, 0) })
  /// They start at 0: the first value of a counter would not count as an increase.
  private static let refusalCodes =
    RefusalCode.unsupportedVersion.rawValue...RefusalCode.notAllowed.rawValue
  var faults = 0
  var slowConsumers = 0
  var storeFailures = 0
  /// Bytes of changes added to the log.
  var logBytes = 0
  /// Batches of one transaction.
  var commitBatches = Histogram.sizes
  /// The time of a transaction, including its wait for the disk.
  var commitSeconds = Histogram.seconds

  mutating func committed(_ batch: CommitBatch, in time: Duration) {
    commitBatches.record(Double(batch.appends.count))
    commitSeconds.record(time / .seconds(1))
    logBytes += batch.appends.reduce(0) { $0 + $1.entry.content.bytes.count }
  }
}

/// Values that must be read from the file system, away from the event loop.
struct ServerFileMetrics: Sendable {
  /// Free bytes on the disk.
  var diskFree: Int?
  /// When the last backup was made, seconds since 1970; 0 if none can be found, nil if none is set
  /// up.
  var lastBackup: Double?

  /// Reads the values; blocks.
  init(_ options: SyncServerOptions) {
    diskFree = FreeSpace(of: options.dataDirectory).bytesLeft.map(Int.init(clamping:))
    do {
      lastBackup = try ServerBackup.lastMade(for: options.dataDirectory).map { Double($0) / 1_000 }
    } catch {
      lastBackup = 0
    }
  }
}

extension ServerDriver {
  /// The page with the current values.
  func metricsPage(_ files: ServerFileMetrics) -> String {
    var page = MetricsPage()
    page.build("cospool_server_build", version: ServerVersion.text)
    page.gauge(
      "cospool_server_start_time_seconds", "The time at which the process started, since 1970.",
      Double(journal.metrics.startedAt) / 1_000)
    page.gauge(
      "cospool_server_healthy", "1 while the server works, as /healthz reports.",
      isHealthy ? 1 : 0)
    addConnections(to: &page)
    addStore(to: &page)
    page.counter(
      "cospool_server_pushes", "Pushes that were tried, by outcome.", by: "outcome",
      PushService.OutcomeName.allCases.map { ($0.rawValue, pushes?.outcomes[$0] ?? 0) })
    page.gauge(
      "cospool_server_disk_free_bytes", "Free space on the disk of the data directory.",
      files.diskFree.map(Double.init))
    page.gauge(
      "cospool_server_certificate_expiry_time_seconds",
      "The time at which the certificate expires, since 1970; absent without TLS.",
      sockets.security?.endsAt.map(Double.init))
    page.gauge(
      "cospool_server_last_backup_time_seconds",
      "The time of the last backup, since 1970; 0 if there is none, absent if backups are "
        + "not set up.",
      files.lastBackup)
    return page.text
  }

  private func addConnections(to page: inout MetricsPage) {
    page.gauge("cospool_server_connections", "Devices' connections.", peers.count)
    page.gauge(
      "cospool_server_tcp_connections", "TCP connections of any kind.", sockets.count)
    page.counter(
      "cospool_server_connections_opened", "Connections that devices opened.",
      journal.metrics.connectionsOpened)
    page.gauge(
      "cospool_server_resident_workspaces", "Workspaces in memory.", core.residentWorkspaces)
    page.gauge(
      "cospool_server_unsent_bytes", "Bytes that are waiting for devices to read them.",
      peers.unsentBytes)
    page.counter(
      "cospool_server_refusals", "Refusals, by code.", by: "code",
      journal.metrics.refusals.sorted { $0.key < $1.key }
        .map { (RefusalCode(rawValue: $0.key).name, $0.value) })
    page.counter(
      "cospool_server_protocol_faults", "Connections that broke the protocol.",
      journal.metrics.faults)
    page.counter(
      "cospool_server_slow_consumers", "Connections that were cut because they did not read.",
      journal.metrics.slowConsumers)
  }

  private func addStore(to page: inout MetricsPage) {
    page.histogram(
      "cospool_server_commit_batches", "Batches of changes in one commit.",
      journal.metrics.commitBatches)
    page.histogram(
      "cospool_server_commit_seconds", "The duration of a commit, with its wait for the disk.",
      journal.metrics.commitSeconds)
    page.counter(
      "cospool_server_log_bytes", "Bytes of changes that the server received.",
      journal.metrics.logBytes)
    page.gauge(
      "cospool_server_store_tasks", "Tasks that are waiting for the store.", store.taskCount)
    page.gauge(
      "cospool_server_store_wait_seconds", "The age of the oldest of these tasks.",
      Double(store.waitMilliseconds) / 1_000)
    page.counter(
      "cospool_server_store_failures", "How many times the store failed.",
      journal.metrics.storeFailures
    )
  }
}
