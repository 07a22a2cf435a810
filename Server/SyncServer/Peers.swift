import NIOCore
import QueueModel
import ServerCore

/// The WebSocket connections: their devices, their unsent bytes, and those with data to flush.
struct Peers {
  private struct Peer {
    var channel: any Channel
    /// The source address.
    var source: String
    /// Its device; nil until it is authenticated.
    var device: ConnectedDevice?
    /// Bytes of accepted messages that are not in the kernel's buffer yet.
    var unsentBytes = 0
    /// Whether it is in `unflushed`.
    var isUnflushed = false
    var isClosing = false
  }

  private var peers: [ConnectionID: Peer] = [:]
  private var lastConnection: UInt64 = 0
  /// Connections with data to flush, the latest first: the receivers of a batch wait for it, but
  /// its sender does not wait for the answer.
  private var unflushed: [ConnectionID] = []
  /// The last report of the connected devices.
  private var report = DeviceReport()

  private struct DeviceReport {
    var isOutdated = false
    var isBeingWritten = false
    /// In milliseconds of uptime.
    var at: Int64 = .min / 2
  }

  var count: Int { peers.count }
  var devices: [ConnectedDevice] { peers.values.compactMap(\.device) }
  var unsentBytes: Int { peers.values.reduce(0) { $0 + $1.unsentBytes } }
  func channel(of id: ConnectionID) -> (any Channel)? { peers[id]?.channel }
  func source(of id: ConnectionID) -> String { peers[id]?.source ?? "unknown" }

  mutating func add(_ channel: any Channel, from source: String) -> ConnectionID {
    lastConnection += 1
    let id = ConnectionID(rawValue: lastConnection)
    peers[id] = Peer(channel: channel, source: source)
    return id
  }

  /// A device was authenticated on a connection.
  mutating func joined(_ id: ConnectionID, _ device: ConnectedDevice) {
    peers[id]?.device = device
    report.isOutdated = true
  }

  /// A connection has ended.
  ///
  /// - Returns: its device, if known.
  mutating func remove(_ id: ConnectionID) -> ConnectedDevice? {
    guard let device = peers.removeValue(forKey: id)?.device else { return nil }
    report.isOutdated = true
    return device
  }

  /// The connected devices, if they have changed since the last report; at most once a second, and
  /// not before `reportWasWritten`.
  mutating func takeReport(at uptimeMilliseconds: Int64) -> [ConnectedDevice]? {
    guard report.isOutdated, !report.isBeingWritten, uptimeMilliseconds - report.at >= 1_000 else {
      return nil
    }
    report = DeviceReport(isBeingWritten: true, at: uptimeMilliseconds)
    return devices
  }

  mutating func reportWasWritten() { report.isBeingWritten = false }

  // MARK: - Sending

  /// Data will be sent; it counts as unsent from now on.
  mutating func willSend(_ count: Int, to ids: [ConnectionID]) {
    for id in ids { peers[id]?.unsentBytes += count }
  }

  /// Data is being written to a connection, which must be flushed.
  ///
  /// - Returns: nil if it has ended.
  mutating func beginWriting(to id: ConnectionID) -> (any Channel)? {
    guard let peer = peers[id] else { return nil }
    if !peer.isUnflushed {
      peers[id]?.isUnflushed = true
      unflushed.append(id)
    }
    return peer.channel
  }

  /// - Returns: the unsent bytes; nil if the connection has ended.
  mutating func sent(_ count: Int, on id: ConnectionID) -> Int? {
    peers[id]?.unsentBytes -= count
    return peers[id]?.unsentBytes
  }

  /// The connection to flush next, the latest first.
  mutating func takeUnflushed() -> (any Channel)? {
    while let id = unflushed.popLast() {
      guard let channel = peers[id]?.channel else { continue }
      peers[id]?.isUnflushed = false
      return channel
    }
    return nil
  }

  /// Begins to close a connection.
  ///
  /// - Returns: nil if it has ended, or is already being closed.
  mutating func beginClosing(_ id: ConnectionID) -> (any Channel)? {
    guard let peer = peers[id], !peer.isClosing else { return nil }
    peers[id]?.isClosing = true
    return peer.channel
  }
}
