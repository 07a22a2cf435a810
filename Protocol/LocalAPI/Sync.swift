package import QueueModel

/// The state of sync with the server.
package struct SyncAnswer: APIValue {
  /// Another device of the workspace.
  package struct Device: APIValue {
    package var id: DeviceID
    package var name: String
    package var connected: Bool
    package var seenEverything: Bool
    /// Since when it has been disconnected; absent if it is connected, or if that is unknown.
    package var awaySince: Timestamp?
  }

  package var state: SyncStatus.State
  package var server: String?
  package var workspace: String?
  package var device: String
  package var deviceName: String
  /// How many changes the server may lack.
  package var outgoing: Int
  /// Whether the device and the server have the same changes.
  package var synced: Bool
  package var lastError: String?
  package var refusalCode: String?
  package var connectedSince: Timestamp?
  package var lastSyncedAt: Timestamp?
  /// In how many milliseconds the device will try to connect again.
  package var retryAfterMilliseconds: Int64?
  package var devices: [Device]
  package var repairs: Int
  /// The device's role: viewer, author or host; absent if it is a host whose access does not end,
  /// or if the server does not report it.
  package var role: String?
  /// When its access ends; absent if it does not.
  package var accessEndsAt: Timestamp?

  package init(_ status: SyncStatus) {
    state = status.state
    server = status.server
    workspace = status.workspace
    device = status.device
    deviceName = status.deviceName
    outgoing = status.outgoing
    synced = status.synced
    lastError = status.lastError
    refusalCode = status.refusalCode
    connectedSince = status.connectedSince.map(Timestamp.init)
    lastSyncedAt = status.lastSyncedAt.map(Timestamp.init)
    retryAfterMilliseconds = status.retryAfterMilliseconds
    devices = status.devices.map {
      Device(
        id: $0.id, name: $0.name, connected: $0.connected, seenEverything: $0.seenEverything,
        awaySince: $0.awaySince.map(Timestamp.init))
    }
    repairs = status.repairs
    role = status.role
    accessEndsAt = status.accessEndsAt.map(Timestamp.init)
  }
}
