import QueueModel
import WireProtocol

extension ResidentWorkspace {
  /// A device of the workspace, as presence shows it.
  struct Device: Hashable, Sendable {
    var name: String
    var seen: UInt64
    /// Positions after `seen` that the device wrote itself, in order.
    var authored: [UInt64] = []
    var needsTouch = false
    /// Milliseconds since 1970; nil for never.
    var lastSeenAt: Int64?
    var role: DeviceRole
    /// How many replica ids it may still draw; nil before the first.
    var replicas: TokenBucket?
    /// How much packing its share still allows for it; nil before the first time.
    var catchUps: TokenBucket?

    /// Whether its shares are as full as after loading it from the store.
    func isRested(at now: ServerTime) -> Bool {
      [replicas, catchUps].allSatisfy {
        $0?.isFull(uptimeMilliseconds: now.uptimeMilliseconds) != false
      }
    }

    /// Records the stored position of the device, its own entries included.
    mutating func advance(to position: UInt64) {
      seen = max(seen, position)
      while let next = authored.first, next <= seen + 1 {
        seen = max(seen, next)
        authored.removeFirst()
      }
    }

    /// Records an entry that came from the device itself.
    mutating func wrote(_ position: UInt64) {
      authored.append(position)
      advance(to: seen)
      if authored.count > 1_000 { authored.removeFirst() }
    }
  }

  /// Records a device from the store.
  mutating func note(_ record: DeviceRecord) {
    devices[record.id, default: Device(name: record.name, seen: 0, role: record.role)].advance(
      to: record.seenLogPosition)
    devices[record.id]?.role = record.role
    if let seenAt = record.lastSeenAt {
      let known = devices[record.id]?.lastSeenAt ?? seenAt
      devices[record.id]?.lastSeenAt = max(known, seenAt)
    }
  }

  /// Records a paired device from the store's record of it.
  mutating func letIn(_ record: DeviceRecord) {
    if devices[record.id] == nil {
      devices[record.id] = Device(
        name: record.name, seen: record.seenLogPosition, lastSeenAt: record.lastSeenAt,
        role: record.role)
    }
    devices[record.id]?.role = record.role
  }

  /// A device reports that it has stored the log up to a position.
  ///
  /// - Returns: whether that is new.
  mutating func stored(through position: UInt64, by device: DeviceID) -> Bool {
    guard let known = devices[device] else { return false }
    devices[device]?.advance(to: min(position, log.head.position))
    return devices[device] != known
  }

  /// The connected devices, and how much of the log each has.
  func presence(connected: Set<DeviceID>) -> Frame {
    .presence(
      devices.sorted { $0.key < $1.key }.map { id, device in
        let isConnected = connected.contains(id)
        return DevicePresence(
          device: id, name: device.name, isConnected: isConnected, seenLogPosition: device.seen,
          lastSeenAt: isConnected ? 0 : device.lastSeenAt ?? 0)
      })
  }

  /// The position that all devices have reached, of those that may still connect with a prefix.
  ///
  /// - Parameter connected: the devices that are connected now.
  func positionSeenByAll(
    connected: Set<DeviceID>, since wallMilliseconds: Int64
  ) -> UInt64 {
    devices.reduce(log.head.position) { position, entry in
      let counts =
        connected.contains(entry.key) || entry.value.lastSeenAt ?? .min >= wallMilliseconds
      return counts ? min(position, entry.value.seen) : position
    }
  }

  /// The devices whose rows in the store are out of date, by id.
  mutating func takeTouches(at now: ServerTime) -> [DeviceTouch] {
    devices.filter(\.value.needsTouch).sorted { $0.key < $1.key }.map { device, record in
      devices[device]?.needsTouch = false
      devices[device]?.lastSeenAt = now.wallMilliseconds
      return DeviceTouch(
        workspace: id, device: device, name: record.name, seenLogPosition: record.seen,
        wallMilliseconds: now.wallMilliseconds)
    }
  }
}
