package import QueueModel
package import SequenceCRDT

/// One message on the wire, in either direction; SPECIFICATION.md, section "Frames".
package enum Frame: Hashable, Sendable {
  /// Client: trade a one-time code for a device token. Allowed before authentication.
  case pair(PairRequest)
  /// Server: the answer to `pair`.
  case paired(PairGrant)
  /// Client: who I am and what I know. The first frame of every other connection.
  case hello(Hello)
  /// Server: the answer to `hello`.
  case welcome(Welcome)
  /// Server: the connection or the frame named in it is refused; the server closes after it
  /// unless the code says otherwise.
  case refused(Refusal)
  /// Both: operations.
  case changes(Changes)
  /// Both: everything up to a log position, or a client's batch, is durable at the sender.
  case ack(Ack)
  /// Both: operations that the sender needs before it can go on.
  case missing([OperationRange])
  /// Server: the whole state, in parts, instead of a long delta. Client: the same, for a server
  /// that lost what the device no longer has as operations.
  case snapshot(SnapshotPart)
  /// Client: a question that wants one answer; idempotent by `id`.
  case request(Request)
  /// Server: the answer to a request.
  case response(Response)
  /// Server: the devices of the workspace and how far each has come.
  case presence([DevicePresence])
  /// Server: it stops soon; reconnect after the given time, spread at random.
  case goAway(GoAway)
  /// Both: the sender cannot go on with this connection.
  case error(ProtocolFault)
  /// Server: the workspace is in a new epoch, whose base the device can make from what it has.
  case compact(Compaction)
  /// Client: what follows was made in this epoch.
  case epoch(UInt64)
  /// Server: what became of a request that a task awaits.
  case answered(AnsweredNotice)
  /// Server: something that the person of this device should see.
  case notification(InboxNotification)
  /// Client: everything in its inbox up to this position is stored on the device.
  case notified(UInt64)
  /// A frame type that this version does not know and the sender marked optional.
  case unknownOptional(type: UInt8)
}

/// Trades a one-time code for a token.
package struct PairRequest: Hashable, Sendable {
  /// Lowest and highest protocol version the client speaks.
  package var versions: ClosedRange<UInt16>
  /// The code as typed; case and separators are normalised by the server.
  package var code: String
  /// The device that asks; made by the client once and kept.
  package var device: DeviceID
  /// What a person calls the device.
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

/// Opens a session.
package struct Hello: Hashable, Sendable {
  package var versions: ClosedRange<UInt16>
  /// 32 bytes.
  package var token: [UInt8]
  package var workspace: WorkspaceID
  package var device: DeviceID
  /// The replica that authors new operations.
  package var replica: ReplicaID
  /// Counts the replica ids this store has had; rises with each.
  package var incarnation: UInt32
  package var deviceName: String
  /// The epoch of the client's base; 0 before the first compaction, and to get a snapshot.
  package var epoch: UInt64
  /// What the client has stored, with the rolling digest of each replica at that point.
  package var known: [KnownReplica]
  /// Largest frame the client takes, in bytes.
  package var frameBytesMax: UInt32

  package init(
    versions: ClosedRange<UInt16>, token: [UInt8], workspace: WorkspaceID, device: DeviceID,
    replica: ReplicaID, incarnation: UInt32, deviceName: String, epoch: UInt64,
    known: [KnownReplica], frameBytesMax: UInt32
  ) {
    self.versions = versions
    self.token = token
    self.workspace = workspace
    self.device = device
    self.replica = replica
    self.incarnation = incarnation
    self.deviceName = deviceName
    self.epoch = epoch
    self.known = known
    self.frameBytesMax = frameBytesMax
  }
}

/// How far one replica is known, and the digest of its operations up to there.
package struct KnownReplica: Hashable, Sendable {
  package var replica: ReplicaID
  package var seq: UInt32
  package var digest: UInt64

  package init(replica: ReplicaID, seq: UInt32, digest: UInt64) {
    self.replica = replica
    self.seq = seq
    self.digest = digest
  }
}

/// Accepts a session.
package struct Welcome: Hashable, Sendable {
  /// The chosen protocol version.
  package var version: UInt16
  package var epoch: UInt64
  /// What the server has stored durably.
  package var known: [KnownReplica]
  /// The head of the workspace's log.
  package var logPosition: UInt64
  /// Distinguishes this log from one restored from a backup or started anew: random, kept with it.
  package var logIdentity: UInt64
  /// The server's wall clock, milliseconds since 1970.
  package var serverMilliseconds: Int64
  /// Limits of this connection.
  package var frameBytesMax: UInt32
  package var pingSeconds: UInt16
  /// Least backoff before a reconnection, milliseconds.
  package var backoffMillisecondsMin: UInt32

  package init(
    version: UInt16, epoch: UInt64, known: [KnownReplica], logPosition: UInt64,
    logIdentity: UInt64, serverMilliseconds: Int64, frameBytesMax: UInt32, pingSeconds: UInt16,
    backoffMillisecondsMin: UInt32
  ) {
    self.version = version
    self.epoch = epoch
    self.known = known
    self.logPosition = logPosition
    self.logIdentity = logIdentity
    self.serverMilliseconds = serverMilliseconds
    self.frameBytesMax = frameBytesMax
    self.pingSeconds = pingSeconds
    self.backoffMillisecondsMin = backoffMillisecondsMin
  }
}

/// Why the server refuses.
package struct Refusal: Hashable, Sendable {
  package var code: RefusalCode
  package var message: String
  /// The `batch` of the `changes` that was refused, 0 where the refusal is not about one.
  package var batch: UInt64
  /// Milliseconds to wait before trying again, nil where trying again is pointless.
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

/// The codes of refusals; raw values are the wire's, unknown ones are kept.
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
  /// The token is another workspace's.
  package static let wrongWorkspace = RefusalCode(rawValue: 4)
  /// The pairing code is wrong, used, or expired.
  package static let wrongCode = RefusalCode(rawValue: 5)
  /// Too many wrong codes; this code is dead or the server pauses pairing.
  package static let tooManyAttempts = RefusalCode(rawValue: 6)
  /// The same (replica, seq) with other content: take a new replica id. Connection stays open
  /// when `batch` is not 0.
  package static let fork = RefusalCode(rawValue: 7)
  /// A stamp is too far ahead of the server's clock: restamp. Connection stays open.
  package static let clockAhead = RefusalCode(rawValue: 8)
  /// A delta is invalid; the message says where. Connection stays open.
  package static let invalidChanges = RefusalCode(rawValue: 9)
  /// A limit of the workspace or connection is reached.
  package static let limitReached = RefusalCode(rawValue: 10)
  /// The server cannot store (disk full or failing): keep the data, try again later.
  package static let storageFailed = RefusalCode(rawValue: 11)
  /// The server is overloaded or stopping.
  package static let unavailable = RefusalCode(rawValue: 12)
  /// The device has too many connections.
  package static let tooManyConnections = RefusalCode(rawValue: 13)
  /// The replica id belongs to another device.
  package static let foreignReplica = RefusalCode(rawValue: 14)
  /// The device did not authenticate in time, or sent too much before it did.
  package static let authenticationBudget = RefusalCode(rawValue: 15)
  /// The connection sends more than its share.
  package static let rateLimited = RefusalCode(rawValue: 16)
  /// The batch was made in another epoch than the server's: take over the new base, make the
  /// operations fit it, and send them again. Connection stays open.
  package static let otherEpoch = RefusalCode(rawValue: 17)
}

/// Operations, encoded once for all receivers.
package struct Changes: Hashable, Sendable {
  /// Client → server: the sender's number of this batch, from 1, answered by `ack` or `refused`.
  /// Server → client: 0.
  package var batch: UInt64
  /// Server → client: log position of the last operation in it; client → server: 0.
  package var logPosition: UInt64
  /// An encoded delta; SPECIFICATION.md, section "Delta".
  package var delta: [UInt8]

  package init(batch: UInt64, logPosition: UInt64, delta: [UInt8]) {
    self.batch = batch
    self.logPosition = logPosition
    self.delta = delta
  }
}

/// Says what is durable.
package struct Ack: Hashable, Sendable {
  /// Server → client: the acknowledged batch. Client → server: 0.
  package var batch: UInt64
  /// Server → client: where the batch lies in the log. Client → server: everything up to here is
  /// stored on the device.
  package var logPosition: UInt64

  package init(batch: UInt64, logPosition: UInt64) {
    self.batch = batch
    self.logPosition = logPosition
  }
}

/// A part of an encoded snapshot; parts come in order, without others in between.
package struct SnapshotPart: Hashable, Sendable {
  package var epoch: UInt64
  /// The log position whose state the snapshot holds.
  package var logPosition: UInt64
  /// From 0.
  package var index: UInt32
  package var count: UInt32
  package var bytes: [UInt8]

  package init(epoch: UInt64, logPosition: UInt64, index: UInt32, count: UInt32, bytes: [UInt8]) {
    self.epoch = epoch
    self.logPosition = logPosition
    self.index = index
    self.count = count
    self.bytes = bytes
  }
}

/// The start of an epoch for a device that has everything its base is made of.
package struct Compaction: Hashable, Sendable {
  package var epoch: UInt64
  /// The log position whose state became the base.
  package var logPosition: UInt64
  /// The operations that the base holds.
  package var cut: VersionVector

  package init(epoch: UInt64, logPosition: UInt64, cut: VersionVector) {
    self.epoch = epoch
    self.logPosition = logPosition
    self.cut = cut
  }
}

/// A question; kinds are numbered in the specification, their payloads belong to the kind.
package struct Request: Hashable, Sendable {
  /// Made by the client; the same id gets the same answer.
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
  /// 0 is success; others are of the request's kind.
  package var status: UInt16
  package var payload: [UInt8]

  package init(id: UInt64, status: UInt16, payload: [UInt8]) {
    self.id = id
    self.status = status
    self.payload = payload
  }
}

/// One device and how far it has come.
package struct DevicePresence: Hashable, Sendable {
  package var device: DeviceID
  package var name: String
  package var isConnected: Bool
  /// Everything up to here is stored on that device.
  package var seenLogPosition: UInt64

  package init(device: DeviceID, name: String, isConnected: Bool, seenLogPosition: UInt64) {
    self.device = device
    self.name = name
    self.isConnected = isConnected
    self.seenLogPosition = seenLogPosition
  }
}

/// The server stops soon.
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
