package import QueueModel

/// One message on the wire, in either direction; SPECIFICATION.md, section "Frames".
package enum Frame: Hashable, Sendable {
  /// Client: exchange a one-time code for a device token. Allowed before authentication.
  case pair(PairRequest)
  /// Server: the answer to `pair`.
  case paired(PairGrant)
  /// Client: its token, store and known prefix. The first frame of every other connection.
  case hello(Hello)
  /// Server: the answer to `hello`.
  case welcome(Welcome)
  /// Server: the connection, or the named batch, is refused. The server closes the connection
  /// unless the code says otherwise.
  case refused(Refusal)
  /// Both: operations.
  case changes(Changes)
  /// Both: everything up to a log position, or a client's batch, is durable at the sender.
  case ack(Ack)
  /// Server: the whole state, in parts, instead of a long delta. Client: its own state, for a
  /// server whose log lacks some of it.
  case snapshot(SnapshotPart)
  /// Client: a request with one answer; idempotent by `id`.
  case request(Request)
  /// Server: the answer to a request.
  case response(Response)
  /// Server: the devices of the workspace and how much of the log each has.
  case presence([DevicePresence])
  /// Server: it will stop soon; reconnect after the given time, spread at random.
  case goAway(GoAway)
  /// Both: the sender cannot continue this connection.
  case error(ProtocolFault)
  /// Server: the verdict on a request that a task awaits.
  case answered(AnsweredNotice)
  /// Server: an event to show to this device's user.
  case notification(InboxNotification)
  /// Client: everything in its inbox up to this position is stored on the device.
  case notified(UInt64)
  /// Server: another device wants a part of this device's output.
  case outputWanted(OutputQuestion)
  /// Client: that part.
  case output(OutputReply)
  /// Server: the device's access, directly before `welcome`, unless it is a host's without an end.
  case access(AccessNotice)
  /// A frame type that this version does not know and that the sender marked optional.
  case unknownOptional(type: UInt8)
}

/// Exchanges a one-time code for a token.
package struct PairRequest: Hashable, Sendable {
  /// The lowest and highest protocol version that the client speaks.
  package var versions: ClosedRange<UInt16>
  /// The code as typed; the server normalizes case and separators.
  package var code: String
  /// The device that wants to pair; the client draws the id once and keeps it.
  package var device: DeviceID
  /// The device's name, chosen by its user.
  package var deviceName: String

  package init(
    versions: ClosedRange<UInt16>, code: String, device: DeviceID, deviceName: String
  ) {
    self.versions = versions
    self.code = code
    self.device = device
    self.deviceName = deviceName
  }
}

/// A fresh device token, shown once.
package struct PairGrant: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var workspaceName: String
  package var device: DeviceID
  /// 32 random bytes.
  package var token: [UInt8]

  package init(workspace: WorkspaceID, workspaceName: String, device: DeviceID, token: [UInt8]) {
    self.workspace = workspace
    self.workspaceName = workspaceName
    self.device = device
    self.token = token
  }
}

/// Starts a connection.
package struct Hello: Hashable, Sendable {
  package var versions: ClosedRange<UInt16>
  /// 32 bytes.
  package var token: [UInt8]
  package var workspace: WorkspaceID
  package var device: DeviceID
  /// The store that the client works on; leases belong to it.
  package var store: StoreID
  package var deviceName: String
  /// The prefix of the server's log that the client has stored.
  package var prefix: LogPrefix

  package init(
    versions: ClosedRange<UInt16>, token: [UInt8], workspace: WorkspaceID, device: DeviceID,
    store: StoreID, deviceName: String, prefix: LogPrefix
  ) {
    self.versions = versions
    self.token = token
    self.workspace = workspace
    self.device = device
    self.store = store
    self.deviceName = deviceName
    self.prefix = prefix
  }
}

/// Accepts a connection.
package struct Welcome: Hashable, Sendable {
  /// The chosen protocol version.
  package var version: UInt16
  /// The server's whole log. If the client's differs, the missing entries follow at once.
  package var head: LogPrefix
  /// Random; part of the replica ids that the client draws. So two copies of one machine draw
  /// different ids even if they draw the same random numbers.
  package var nonce: UInt64
  /// The server's wall clock, milliseconds since 1970.
  package var serverMilliseconds: Int64
  package var pingSeconds: UInt16
  /// The shortest wait before a reconnection, milliseconds.
  package var backoffMillisecondsMin: UInt32

  package init(
    version: UInt16, head: LogPrefix, nonce: UInt64, serverMilliseconds: Int64,
    pingSeconds: UInt16, backoffMillisecondsMin: UInt32
  ) {
    self.version = version
    self.head = head
    self.nonce = nonce
    self.serverMilliseconds = serverMilliseconds
    self.pingSeconds = pingSeconds
    self.backoffMillisecondsMin = backoffMillisecondsMin
  }
}

/// A device's rights, and when they end.
package struct AccessNotice: Hashable, Sendable {
  package var role: DeviceRole
  /// When the access ends, milliseconds since 1970; nil for never.
  package var expiresAt: Int64?

  package init(role: DeviceRole, expiresAt: Int64?) {
    self.role = role
    self.expiresAt = expiresAt
  }
}

/// Why the server refuses.
package struct Refusal: Hashable, Sendable {
  package var code: RefusalCode
  package var message: String
  /// The `batch` of the refused `changes`; 0 if the refusal does not concern one.
  package var batch: UInt64
  /// Milliseconds to wait before the next attempt; nil if further attempts are pointless.
  package var retryAfterMilliseconds: UInt32?
  /// The server's wall clock, so that a refused clock can be corrected.
  package var serverMilliseconds: Int64

  package init(
    code: RefusalCode, message: String, batch: UInt64 = 0,
    retryAfterMilliseconds: UInt32? = nil, serverMilliseconds: Int64 = 0
  ) {
    self.code = code
    self.message = message
    self.batch = batch
    self.retryAfterMilliseconds = retryAfterMilliseconds
    self.serverMilliseconds = serverMilliseconds
  }
}

/// The codes of refusals; raw values are those of the wire, unknown ones are kept.
package struct RefusalCode: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt16

  package init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// No common protocol version.
  package static let unsupportedVersion = RefusalCode(rawValue: 1)
  /// The token is wrong.
  package static let unauthorized = RefusalCode(rawValue: 2)
  /// The token was revoked.
  package static let revoked = RefusalCode(rawValue: 3)
  /// The token belongs to another workspace.
  package static let wrongWorkspace = RefusalCode(rawValue: 4)
  /// The pairing code is wrong, used, or expired.
  package static let wrongCode = RefusalCode(rawValue: 5)
  /// Too many wrong codes; this code has ended, or the server pauses pairing.
  package static let tooManyAttempts = RefusalCode(rawValue: 6)
  /// A delta or a state is invalid; the message names the place. The connection stays open if
  /// `batch` is not 0.
  package static let invalidChanges = RefusalCode(rawValue: 7)
  /// A limit of the workspace or connection is reached.
  package static let limitReached = RefusalCode(rawValue: 8)
  /// The server cannot store data (disk full or failing): keep it, and try again later.
  package static let storageFailed = RefusalCode(rawValue: 9)
  /// The server is overloaded or stopping.
  package static let unavailable = RefusalCode(rawValue: 10)
  /// The device has too many connections.
  package static let tooManyConnections = RefusalCode(rawValue: 11)
  /// The device did not authenticate in time, or sent too much before it did.
  package static let authenticationBudget = RefusalCode(rawValue: 12)
  /// The connection sends more than its share, or the device draws replica ids too fast.
  package static let rateLimited = RefusalCode(rawValue: 13)
  /// The batch depends on operations that the server does not have, such as those of a refused
  /// batch: send it again after them. The connection stays open.
  package static let outOfOrder = RefusalCode(rawValue: 14)
  /// The device's role does not allow it, or it writes as another device. The connection stays
  /// open.
  package static let notAllowed = RefusalCode(rawValue: 15)
}

/// Operations, encoded once for all receivers.
package struct Changes: Hashable, Sendable {
  /// Client → server: the sender's number of this batch, from 1, answered by `ack`, `changes` or
  /// `refused`. Server → client: 0, or the client's batch, if it was logged with stamps other than
  /// the client's.
  package var batch: UInt64
  /// Server → client: the prefix that the client has after it has stored these operations and all
  /// earlier ones. Client → server: empty.
  package var prefix: LogPrefix
  /// An encoded delta; SPECIFICATION.md, section "Delta".
  package var delta: [UInt8]

  package init(batch: UInt64, prefix: LogPrefix = .empty, delta: [UInt8]) {
    self.batch = batch
    self.prefix = prefix
    self.delta = delta
  }
}

/// Reports which data is durable.
package struct Ack: Hashable, Sendable {
  /// Server → client: the acknowledged batch. Client → server: 0.
  package var batch: UInt64
  /// Server → client: the prefix with the batch and everything before it. Client → server: the
  /// prefix that is stored on the device.
  package var prefix: LogPrefix

  package init(batch: UInt64, prefix: LogPrefix) {
    self.batch = batch
    self.prefix = prefix
  }
}

/// A part of an encoded snapshot; parts come in order, without others in between.
package struct SnapshotPart: Hashable, Sendable {
  /// Server → client: the prefix whose state is in the snapshot. Client → server: empty.
  package var prefix: LogPrefix
  /// Counts from 0.
  package var index: UInt32
  package var count: UInt32
  package var bytes: [UInt8]

  package init(prefix: LogPrefix = .empty, index: UInt32, count: UInt32, bytes: [UInt8]) {
    self.prefix = prefix
    self.index = index
    self.count = count
    self.bytes = bytes
  }
}

extension SnapshotPart {
  /// A packed snapshot in parts of at most this many bytes, at least one part.
  package static func parts(
    of bytes: [UInt8], prefix: LogPrefix = .empty, bytesMax: Int
  ) -> [SnapshotPart] {
    let starts = Array(stride(from: 0, to: max(bytes.count, 1), by: bytesMax))
    return starts.enumerated().map { index, start in
      SnapshotPart(
        prefix: prefix, index: UInt32(index), count: UInt32(starts.count),
        bytes: Array(bytes[start..<min(start + bytesMax, bytes.count)]))
    }
  }
}

/// A request. The specification numbers the kinds; each kind has its own payload.
package struct Request: Hashable, Sendable {
  /// Chosen by the client; the same id gets the same answer.
  package var id: UInt64
  package var kind: UInt16
  package var payload: [UInt8]

  package init(id: UInt64, kind: UInt16, payload: [UInt8]) {
    self.id = id
    self.kind = kind
    self.payload = payload
  }
}

/// An answer.
package struct Response: Hashable, Sendable {
  package var id: UInt64
  /// 0 is success; others depend on the request's kind.
  package var status: UInt16
  package var payload: [UInt8]

  package init(id: UInt64, status: UInt16, payload: [UInt8]) {
    self.id = id
    self.status = status
    self.payload = payload
  }
}

/// One device and how much of the log it has.
package struct DevicePresence: Hashable, Sendable {
  package var device: DeviceID
  package var name: String
  package var isConnected: Bool
  /// Everything up to here is stored on that device.
  package var seenLogPosition: UInt64
  /// When it was last connected, if it is not connected now: milliseconds since 1970 on the
  /// server's clock, 0 if the server does not know.
  package var lastSeenAt: Int64

  package init(
    device: DeviceID, name: String, isConnected: Bool, seenLogPosition: UInt64,
    lastSeenAt: Int64 = 0
  ) {
    self.device = device
    self.name = name
    self.isConnected = isConnected
    self.seenLogPosition = seenLogPosition
    self.lastSeenAt = lastSeenAt
  }
}

/// The server will stop soon.
package struct GoAway: Hashable, Sendable {
  package var reconnectAfterMillisecondsMin: UInt32
  package var reconnectAfterMillisecondsMax: UInt32
  package var reason: String

  package init(
    reconnectAfterMillisecondsMin: UInt32, reconnectAfterMillisecondsMax: UInt32, reason: String
  ) {
    self.reconnectAfterMillisecondsMin = reconnectAfterMillisecondsMin
    self.reconnectAfterMillisecondsMax = reconnectAfterMillisecondsMax
    self.reason = reason
  }
}

/// A violation of the protocol.
package struct ProtocolFault: Hashable, Sendable {
  package var code: UInt16
  package var message: String

  package init(code: UInt16, message: String) {
    self.code = code
    self.message = message
  }
}
