/// The outcome of pairing.
public struct PairingResult: Hashable, Sendable {
  /// The workspace that the device now belongs to.
  public var workspace: WorkspaceID
  /// The display name of the workspace.
  public var workspaceName: String
  /// The device's id.
  public var device: DeviceID
  /// The server's address.
  public var server: String

  package init(workspace: WorkspaceID, workspaceName: String, device: DeviceID, server: String) {
    self.workspace = workspace
    self.workspaceName = workspaceName
    self.device = device
    self.server = server
  }
}

/// The state of sync; its JSON is the output of `cospool status`.
public struct SyncStatus: Hashable, Sendable {
  /// The states of the connection.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// No server is paired; everything works on this device.
    case notPaired
    /// A user turned sync off.
    case disabled
    /// Connecting to the server.
    case connecting
    /// Connected; changes flow.
    case connected
    /// Waits before the next attempt.
    case waiting
    /// The server refused permanently; data is kept, and no attempt is made until a user acts.
    case refused
  }

  /// Another device of the workspace, according to the server's last report.
  public struct Device: Hashable, Sendable {
    /// Its id.
    public var id: DeviceID
    /// Its name.
    public var name: String
    /// Whether it is connected.
    public var connected: Bool
    /// Whether it has stored everything that the server has, as far as this device knows.
    public var seenEverything: Bool
    /// When it was disconnected, in milliseconds since 1970; absent if it is connected, or if the
    /// server does not know.
    public var awaySince: Int64?

    package init(
      id: DeviceID, name: String, connected: Bool, seenEverything: Bool, awaySince: Int64? = nil
    ) {
      self.id = id
      self.name = name
      self.connected = connected
      self.seenEverything = seenEverything
      self.awaySince = awaySince
    }
  }

  /// The state of the connection.
  public var state: State
  /// The address of the paired server.
  public var server: String?
  /// The workspace's id.
  public var workspace: String?
  /// This device's id.
  public var device: String
  /// This device's name.
  public var deviceName: String
  /// The number of operations that the server may lack.
  public var outgoing = 0
  /// Whether the device is connected, the server has all of its operations, and the device has all
  /// of the server's known operations.
  public var synced = false
  /// The latest problem, until it is resolved.
  public var lastError: String?
  /// The code of the server's latest refusal, until it is resolved.
  public var refusalCode: String?
  /// When it connected, in milliseconds since 1970.
  public var connectedSince: Int64?
  /// When everything was last in sync, in milliseconds since 1970.
  public var lastSyncedAt: Int64?
  /// The milliseconds until the next attempt in state `waiting`, counted from when the status was
  /// made.
  public var retryAfterMilliseconds: Int64?
  /// The other devices of the workspace.
  public var devices: [Device] = []
  /// How many times a copy of this program's running memory was detected that wrote under the same
  /// ids. Each time, this device's changes got new ids.
  public var repairs = 0
  /// The device's role, by name, if the server reported it. Otherwise the device is a host whose
  /// access does not end, or the server is of an earlier version.
  public var role: String?
  /// When the device's access ends, in milliseconds since 1970; absent if it does not.
  public var accessEndsAt: Int64?

  package init(state: State, device: DeviceID, deviceName: String) {
    self.state = state
    self.device = device.description
    self.deviceName = deviceName
  }
}

extension PairingResult: Codable {}
extension SyncStatus: Codable {}
extension SyncStatus.State: Codable {}
extension SyncStatus.Device: Codable {}
