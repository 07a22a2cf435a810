import QueueModel
import WireProtocol

/// Every limit and interval of the server in one place, by subject. All durations are milliseconds.
package struct ServerConfiguration: Hashable, Sendable {
  /// The protocol versions that the server speaks.
  package var versions = ProtocolVersion.spoken
  package var admission = Admissions()
  package var pairing = PairingRules()
  package var traffic = Traffic()
  package var commits = Commits()
  package var log = Log()
  package var devices = Devices()
  package var quota = Quota()
  package var notifications = Notifications()
  package var times = Times()
  package var advice = Advice()
  /// Whether other nodes use the same store. Then the store confirms that this node is up to date
  /// before any answer. The node also keeps looking for workspaces with pending pushes, because the
  /// node that served them may have ended.
  package var sharesStore = false

  package init() {}

  /// A rate: units per second in the long run, and units at once.
  package struct Rate: Hashable, Sendable {
    package var perSecond: Int64
    package var burst: Int64
  }

  /// An allowance for something rare: how often at once, and the seconds for each one in the long
  /// run.
  package struct Allowance: Hashable, Sendable {
    package var burst: Int
    package var seconds: Int
  }

  /// The limits of a connection before its device is known.
  package struct Admissions: Hashable, Sendable {
    /// How long a connection may take to authenticate, counted from its acceptance.
    package var milliseconds: Int64 = 10_000
    /// Bytes that a connection may send before it has authenticated.
    package var bytesMax = WireLimits.preAuthenticationBytesMax
    /// Connections of the whole server.
    package var connectionsMax = 10_000
  }

  /// The limits of one connection's traffic.
  package struct Traffic: Hashable, Sendable {
    /// Frames, and bytes, that a connection may send.
    package var frames = Rate(perSecond: 200, burst: 2_000)
    package var bytes = Rate(perSecond: 4 << 20, burst: 32 << 20)
    /// Bytes of waiting batches of one connection, above which the server stops reading it.
    package var unsettledBytesMax = 4 << 20
    /// Bytes that wait for one receiver, above which it is cut off.
    package var slowConsumerBytesMax = 8 << 20
    /// Bytes handed to the driver for one receiver, above which the core holds back the rest.
    package var sendWindowBytes = 2 << 20
    /// Requests for the output of other devices: the open ones of one connection, the open ones for
    /// one connection, and the number that a connection may send.
    package var outputsMax = 16
    package var outputsWantedMax = 64
    package var outputs = Rate(perSecond: 32, burst: 256)
    /// How long the asked device may take, beyond the wait that the request names.
    package var outputMilliseconds: Int64 = 10_000
  }

  /// The limits of one transaction of the group commit.
  package struct Commits: Hashable, Sendable {
    package var batchesMax = 1_000
    package var bytesMax = 8 << 20
    /// The number of operations examined before a transaction, including refused ones; a batch is
    /// examined as a whole. All workspaces wait that long.
    package var operationsMax = 1_024
  }

  /// The length of the log, and how its missing parts are sent to devices.
  package struct Log: Hashable, Sendable {
    /// The number of log entries after which a snapshot is due, and the number after which it is
    /// due even if they are small.
    package var snapshotEntries = 256
    package var snapshotEntriesMax = 4_096
    /// Bytes of the log after which a snapshot is due, whatever the number of entries.
    package var snapshotBytes = 16 << 20
    /// The log is kept for devices that were connected within this time; others get a snapshot.
    package var retentionMilliseconds: Int64 = 30 * 86_400_000
    /// The maximum number of missing log entries, and of their bytes, that a device gets as entries
    /// instead of a snapshot.
    package var catchUpEntriesMax = 4_096
    package var catchUpBytesMax = 16 << 20
    /// The maximum work to merge missing entries for a device, in the unit of `CatchUp`: a third of
    /// a second. It counts as much as packing a state.
    package var catchUpWorkMax = 12_000_000
    /// The largest delta and snapshot part that the server itself makes.
    package var partBytesMax = 256 << 10
  }

  /// The limits of one device.
  package struct Devices: Hashable, Sendable {
    /// Connections of one device at a time; copies of one directory share their device.
    package var connectionsMax = 16
    /// Replica ids that a device may draw.
    package var replicas = Allowance(burst: 1_000, seconds: 60)
    /// How often the server packs the whole state for a device, or as much of the log as may be
    /// merged. A device with a full disk requests it with every connection, on average every 15
    /// seconds, and is never delayed.
    package var catchUps = Allowance(burst: 32, seconds: 10)
    /// How far ahead of the server's clock a stamp may be.
    package var stampAheadMillisecondsMax = Limits.stampAheadMillisecondsMax
  }

  /// The limits of a workspace without limits of its own.
  package struct Quota: Hashable, Sendable {
    /// Stored bytes of its latest snapshot and of the log after it.
    package var bytesMax = 512 << 20
    /// Units (scalars, slots, operations) ever made, which determine the memory.
    package var unitsMax = WorkspaceQuota.unitsMaxMax
    /// Bytes of changes in a day (UTC).
    package var dailyBytesMax = 1 << 30
    /// Bytes of a whole state, as it is sent. Above them, a workspace accepts nothing new and joins
    /// no state. Devices accept twice as much, because a state grows until its next snapshot. A
    /// workspace's own limits do not raise it.
    package var stateBytesMax = WireLimits.stateBytesMax
    /// Bytes of states and entries that may wait for devices to read them, except for the first; a
    /// quarter of it for one device, except for its first. A workspace's own limits do not raise
    /// it.
    package var waitingBytesMax = 256 << 20
    /// The number of waiting requests about leases, dispatch and agents. A workspace's own limits
    /// do not raise it.
    package var requestsMax = 1_000
  }

  /// When users are notified.
  package struct Notifications: Hashable, Sendable {
    /// How long a connected device may take to store a notification before it is pushed as well.
    package var patienceMilliseconds: Int64 = 10_000
    /// Older events cause no notification when they arrive.
    package var ageMillisecondsMax: Int64 = 7 * 86_400_000
  }

  /// The intervals and waits of the server.
  package struct Times: Hashable, Sendable {
    /// When a workspace without connections is unloaded.
    package var idleMilliseconds: Int64 = 60_000
    /// When the content of a workspace with connected but silent devices is unloaded.
    package var connectedIdleMilliseconds: Int64 = 30_000
    /// The minimum time between two frames of presence in a workspace.
    package var presenceMilliseconds: Int64 = 200
    /// The minimum time between two writes of rows with only seen positions and last-seen times.
    package var touchMilliseconds: Int64 = 1_000
    /// How often the tokens of live connections are checked against the store.
    package var tokenCheckMilliseconds: Int64 = 1_000
    /// How often a server that shares its store looks for workspaces with pending pushes that no
    /// node serves.
    package var unpushedMilliseconds: Int64 = 5_000
    /// How long after a failure the store gets no new tasks.
    package var storageRetryMilliseconds: Int64 = 1_000
    /// How long damaged data is not read again, unless it is requested.
    package var damageRetryMilliseconds: Int64 = 60_000
    /// How long a graceful stop may take before connections are closed anyway.
    package var stopMilliseconds: Int64 = 3_000
  }

  /// The waits that `welcome` and `goAway` give to the client.
  package struct Advice: Hashable, Sendable {
    package var pingSeconds: UInt16 = 20
    package var backoffMillisecondsMin: UInt32 = 0
    package var goAwayMillisecondsMin: UInt32 = 500
    package var goAwayMillisecondsMax: UInt32 = 5_000
  }
}

/// The rules for pairing codes and guesses.
package struct PairingRules: Hashable, Sendable {
  /// Wrong codes after which a source pauses.
  package var failuresMax = 5
  /// Wrong codes, from any source, after which an open code with their name ends. By then, one of
  /// 64,000 codes is guessed. An attacker who wants to end all of them must guess 400,000 times
  /// within ten minutes.
  package var codeFailuresMax = 1_000
  /// How long a source pauses after its wrong codes, in milliseconds.
  package var pauseMilliseconds: Int64 = 60_000
  /// Whether devices with the role of a host get codes for new devices.
  package var devicesMayPair = false
  /// Codes that one device gets within a code's lifetime, used or not.
  package var deviceCodesMax = 8

  package init() {}
}
