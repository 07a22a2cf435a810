package import NetworkAddresses
package import ProcessResources
package import PushNotices
package import ServerCore
import WireProtocol

/// What a server process is started with.
package struct SyncServerOptions: Sendable {
  /// Holds the database, the lock and the address file.
  package var dataDirectory: String
  /// The address to listen on.
  package var host: String
  /// The port to listen on; 0 takes a free one.
  package var port: Int
  /// What TLS needs; the server speaks plain WebSocket if it is nil.
  package var certificate: ServerCertificate?
  /// Where numbers are served; nil: nowhere.
  package var metrics: MetricsAddress?
  /// Limits and intervals of the protocol.
  package var core = ServerConfiguration()
  /// Who gets a place among the connections.
  package var places = Places.Rules()
  /// What stands in front of it.
  package var front = Front()
  package var pings = Pings()
  /// How long the store's thread may leave a question unanswered before the server counts as unwell.
  package var storeMilliseconds: Int64 = 10_000
  /// How often the core hears that time has passed.
  package var tickMilliseconds: Int64 = 100
  /// What the files of attachments may take.
  package var files = Files()
  /// What is left of the disk; nil: of that which holds the data.
  package var freeSpace: FreeSpace?
  /// How long a connection that was told to close may take to do so.
  package var lingerMilliseconds: Int64 = 1_500

  /// When pushes that failed are tried again.
  package var pushSchedule = BackoffSchedule.standard

  /// The port if none is given.
  package static let portDefault = 7420

  package init(dataDirectory: String, host: String = "127.0.0.1", port: Int = portDefault) {
    self.dataDirectory = dataDirectory
    self.host = host
    self.port = port
  }

  package struct Front: Sendable {
    /// Proxies whose `X-Forwarded-For` is believed.
    package var trustedProxies: [AddressRange] = []
    /// The address that devices use; nil: the one at which the server listens.
    package var url: String?
  }

  package struct Pings: Sendable {
    /// How often idle connections are pinged.
    package var everyMilliseconds: Int64 = 20_000
    /// How long one may be silent.
    package var silenceMilliseconds: Int64 = 45_000
  }

  package struct Files: Sendable {
    /// Bytes of those of one workspace together.
    package var quotaBytes = 1 << 30
    /// Requests under way at once; each may hold one file in memory.
    package var requestsMax = 16
    /// Those of one workspace.
    package var requestsPerWorkspaceMax = 8
    /// How long a connection may take for one request while nothing goes over, and to wait for the
    /// next.
    package var milliseconds = Int64(WireLimits.blobSecondsMax) * 1_000

    package init() {}
  }
}

/// The version of the server, as `--version` says it.
package enum ServerVersion {
  package static let text = "0.1.0"
}
