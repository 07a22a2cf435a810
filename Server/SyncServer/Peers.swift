import NIOCore
import QueueModel
import ServerCore

/// The WebSocket connections: whose each is, how much of what was sent on it is not in the kernel's hands
/// yet, and which are still to be written out.
struct Peers {
  private struct Peer {
    var channel: any Channel
    /// The address it came from.
    var source: String
    /// The device that was let in by it; nil until then.
    var device: ConnectedDevice?
    /// Bytes of messages that were handed over and are not in the kernel's hands yet.
    var unsentBytes = 0
    /// It stands in `unflushed`.
    var isUnflushed = false
    var isClosing = false
  }

  private var peers: [ConnectionID: Peer] = [:]
  private var lastConnection: UInt64 = 0
  /// Connections with something to write out. The latest goes first: somebody waits for what a batch
  /// leads to elsewhere, nobody for the answer to whoever sent it.
  private var unflushed: [ConnectionID] = []
  /// What was said elsewhere of who is connected.
  private var said = Said()

  private struct Said {
    var isOutdated = false
    var isBeingSaid = false
    /// Uptime.
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

  /// A device was let in by a connection.
  mutating func joined(_ id: ConnectionID, _ device: ConnectedDevice) {
    peers[id]?.device = device
    said.isOutdated = true
  }

  /// A connection is gone.
  ///
  /// - Returns: whose it was, if that is known.
  mutating func remove(_ id: ConnectionID) -> ConnectedDevice? {
    guard let device = peers.removeValue(forKey: id)?.device else { return nil }
    said.isOutdated = true
    return device
  }

  /// Who is connected, if that has changed since it was said; at most once a second, and not before
  /// `newsWereSaid`.
  mutating func takeNews(at uptimeMilliseconds: Int64) -> [ConnectedDevice]? {
    guard said.isOutdated, !said.isBeingSaid, uptimeMilliseconds - said.at >= 1_000 else {
      return nil
    }
    said = Said(isBeingSaid: true, at: uptimeMilliseconds)
    return devices
  }

  mutating func newsWereSaid() { said.isBeingSaid = false }

  // MARK: - Sending

  /// Something is to be sent: it counts as unsent from now on.
  mutating func willSend(_ count: Int, to ids: [ConnectionID]) {
    for id in ids { peers[id]?.unsentBytes += count }
  }

  /// Something is written to a connection now: it is to be flushed.
  ///
  /// - Returns: nil if it is gone.
  mutating func beginWriting(to id: ConnectionID) -> (any Channel)? {
    guard let peer = peers[id] else { return nil }
    if !peer.isUnflushed {
      peers[id]?.isUnflushed = true
      unflushed.append(id)
    }
    return peer.channel
  }

  /// - Returns: the bytes that are still unsent; nil if the connection is gone.
  mutating func sent(_ count: Int, on id: ConnectionID) -> Int? {
    peers[id]?.unsentBytes -= count
    return peers[id]?.unsentBytes
  }

  /// The connection that is to be flushed next, the latest first.
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
  /// - Returns: nil if it is gone, or being closed already.
  mutating func beginClosing(_ id: ConnectionID) -> (any Channel)? {
    guard let peer = peers[id], !peer.isClosing else { return nil }
    peers[id]?.isClosing = true
    return peer.channel
  }
}
