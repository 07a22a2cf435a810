package import NetworkAddresses
package import ProcessResources
package import PushNotices
package import ServerCore
import WireProtocol

/// The start options of a server process.
package struct SyncServerOptions: Sendable {
  /// The directory of the database, the lock and the address file.
  package var dataDirectory: String
  /// The address to listen on.
  package var host: String
  /// The port to listen on; 0 takes a free one.
  package var port: Int
  /// The files for TLS; the server speaks plain WebSocket if it is nil.
  package var certificate: ServerCertificate?
  /// The address of the metrics; nil for none.
  package var metrics: MetricsAddress?
  /// Limits and intervals of the protocol.
  package var core = ServerConfiguration()
  /// The rules for places among the connections.
  package var places = Places.Rules()
  /// The proxy in front of it.
  package var front = Front()
  package var pings = Pings()
  /// How long the store's thread may leave a task unanswered before the server counts as unhealthy.
  package var storeMilliseconds: Int64 = 10_000
  /// How often the core gets `clockTicked`.
  package var tickMilliseconds: Int64 = 100
  /// The limits of attachments' files.
  package var files = Files()
  /// The free space of the disk; nil for that of the disk that holds the data.
  package var freeSpace: FreeSpace?
  /// How long a connection may take to close after the server began to close it.
  package var lingerMilliseconds: Int64 = 1_500

  /// The schedule for retries of failed pushes.
  package var pushSchedule = BackoffSchedule.standard

  /// The default port.
  package static let portDefault = 7420

  package init(dataDirectory: String, host: String = "127.0.0.1", port: Int = portDefault) {
    self.dataDirectory = dataDirectory
    self.host = host
    self.port = port
  }

  package struct Front: Sendable {
    /// Proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: [AddressRange] = []
    /// The address that devices use; nil for the one at which the server listens.
    package var url: String?
  }

  package struct Pings: Sendable {
    /// How often idle connections are pinged.
    package var everyMilliseconds: Int64 = 20_000
    /// How long a connection may be silent.
    package var silenceMilliseconds: Int64 = 45_000
  }

  package struct Files: Sendable {
    /// The total bytes of one workspace's files.
    package var quotaBytes = 1 << 30
    /// The maximum number of open requests; each may hold one file in memory.
    package var requestsMax = 16
    /// The maximum for one workspace.
    package var requestsPerWorkspaceMax = 8
    /// How long a connection may go without progress on one request, and may wait for the next.
    package var milliseconds = Int64(WireLimits.blobSecondsMax) * 1_000

    package init() {}
  }
}

/// The version of the server, as `--version` shows it.
package enum ServerVersion {
  package static let text = "0.1.0"
}
