import QueueModel
import WireProtocol

/// Every limit and interval of the server in one place, by subject. All durations are milliseconds.
package struct ServerConfiguration: Hashable, Sendable {
  /// The versions of the protocol that it speaks.
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

  package init() {}

  /// How much of something is taken per second in the long run, and at once.
  package struct Rate: Hashable, Sendable {
    package var perSecond: Int64
    package var burst: Int64
  }

  /// How often something rare may be had at once; in the long run once in so many seconds.
  package struct Allowance: Hashable, Sendable {
    package var burst: Int
    package var seconds: Int
  }

  /// What a connection may do before its device is known.
  package struct Admissions: Hashable, Sendable {
    /// How long a connection may take to authenticate, counted from its acceptance.
    package var milliseconds: Int64 = 10_000
    /// Bytes a connection may send before it has authenticated.
    package var bytesMax = WireLimits.preAuthenticationBytesMax
    /// Connections of the whole server.
    package var connectionsMax = 10_000
  }

  /// What one connection may send and is sent.
  package struct Traffic: Hashable, Sendable {
    /// Frames, and bytes, that a connection may send.
    package var frames = Rate(perSecond: 200, burst: 2_000)
    package var bytes = Rate(perSecond: 4 << 20, burst: 32 << 20)
    /// Bytes of batches that one connection may have waiting before the server stops reading it.
    package var unsettledBytesMax = 4 << 20
    /// Bytes waiting for one receiver at which it is cut off.
    package var slowConsumerBytesMax = 8 << 20
    /// Bytes handed to the driver for one receiver before the core holds back the rest.
    package var sendWindowBytes = 2 << 20
  }

  /// What one transaction of the group commit may hold.
  package struct Commits: Hashable, Sendable {
    package var batchesMax = 1_000
    package var bytesMax = 8 << 20
    /// How many operations are looked at before a transaction, refused ones too; a batch is looked at as a
    /// whole. All workspaces wait that long.
    package var operationsMax = 1_024
  }

  /// How long the log is, and how what a device lacks of it is put together.
  package struct Log: Hashable, Sendable {
    /// Log entries after which a snapshot is due, and after which it is due however small they are.
    package var snapshotEntries = 256
    package var snapshotEntriesMax = 4_096
    /// Bytes of the log after which a snapshot is due however few entries they are.
    package var snapshotBytes = 16 << 20
    /// The log is kept for devices that were seen within this time; others get a snapshot.
    package var retentionMilliseconds: Int64 = 30 * 86_400_000
    /// Log entries a device may lack, and their bytes, and still get them instead of a snapshot.
    package var catchUpEntriesMax = 4_096
    package var catchUpBytesMax = 16 << 20
    /// What may be done to merge entries for a device that lacks them, as `CatchUp` counts it: a third of a
    /// second. It counts for as much as packing a state does.
    package var catchUpWorkMax = 12_000_000
    /// Largest delta and snapshot part that the server itself puts together.
    package var partBytesMax = 256 << 10
  }

  /// What one device may have and say.
  package struct Devices: Hashable, Sendable {
    /// Connections one device may hold at a time; copies of one directory share their device.
    package var connectionsMax = 16
    /// Replica ids that a device may draw.
    package var replicas = Allowance(burst: 1_000, seconds: 60)
    /// How often the whole state is packed for a device, or as much of the log as may be merged. Whose disk is
    /// full asks with every connection, on average every 15 seconds, and is never held up.
    package var catchUps = Allowance(burst: 32, seconds: 10)
    /// How far ahead of the server's clock a stamp may be.
    package var stampAheadMillisecondsMax = Limits.stampAheadMillisecondsMax
  }

  /// What one workspace may take whose owner said nothing else.
  package struct Quota: Hashable, Sendable {
    /// Bytes of its latest snapshot and of the log behind it as they are stored.
    package var bytesMax = 512 << 20
    /// Units (scalars, slots, operations) that were ever made, which is what memory goes by.
    package var unitsMax = WorkspaceQuota.unitsMaxMax
    /// Bytes of changes that it may bring in on a day (UTC).
    package var dailyBytesMax = 1 << 30
    /// Bytes of a whole state, as it is sent: past them a workspace takes nothing new, and none is joined.
    /// Devices take in twice as much, since a state grows until its next snapshot. No owner raises it.
    package var stateBytesMax = WireLimits.stateBytesMax
    /// Bytes of states and entries that may wait for devices to take them, but for the first; a quarter of it
    /// for one device, but for its first. No owner raises it.
    package var waitingBytesMax = 256 << 20
    /// Questions about leases, dispatch and requests that may wait. No owner raises it.
    package var requestsMax = 1_000
  }

  /// When people are told.
  package struct Notifications: Hashable, Sendable {
    /// How long a connected device may take to store a notification before it is pushed as well.
    package var patienceMilliseconds: Int64 = 10_000
    /// What is older when it comes in is not told any more.
    package var ageMillisecondsMax: Int64 = 7 * 86_400_000
  }

  /// How often the server does something, and for how long it waits.
  package struct Times: Hashable, Sendable {
    /// When a workspace without connections leaves memory.
    package var idleMilliseconds: Int64 = 60_000
    /// When the content of a workspace whose devices stay connected, but silent, leaves memory.
    package var connectedIdleMilliseconds: Int64 = 30_000
    /// Presence goes out at most this often per workspace.
    package var presenceMilliseconds: Int64 = 200
    /// Seen positions and last-seen times are written at most this often on their own.
    package var touchMilliseconds: Int64 = 1_000
    /// How often the tokens of live connections are checked against the store.
    package var tokenCheckMilliseconds: Int64 = 1_000
    /// How long the store is left alone after a failure.
    package var storageRetryMilliseconds: Int64 = 1_000
    /// How long what was found damaged is left alone, unless somebody asks for it.
    package var damageRetryMilliseconds: Int64 = 60_000
    /// How long a graceful stop may take before connections are closed all the same.
    package var stopMilliseconds: Int64 = 3_000
  }

  /// What `welcome` and `goAway` tell the client.
  package struct Advice: Hashable, Sendable {
    package var pingSeconds: UInt16 = 20
    package var backoffMillisecondsMin: UInt32 = 0
    package var goAwayMillisecondsMin: UInt32 = 500
    package var goAwayMillisecondsMax: UInt32 = 5_000
  }
}

/// Who gets in by a code, and how often it may be guessed.
package struct PairingRules: Hashable, Sendable {
  /// Wrong codes after which a source pauses.
  package var failuresMax = 5
  /// Wrong codes, from wherever they come, after which an open code of their name is done. One of 64,000 codes
  /// is guessed by then; and whoever wants to end them all has to guess 400,000 times within ten minutes.
  package var codeFailuresMax = 1_000
  /// How long a source pauses after its wrong codes, in milliseconds.
  package var pauseMilliseconds: Int64 = 60_000
  /// Whether devices with the role of a host get codes for new devices.
  package var devicesMayPair = false
  /// Codes that one device gets within the lifetime of one, used or not.
  package var deviceCodesMax = 8

  package init() {}
}
