import QueueModel

/// Packing is expensive, and a device may request it again and again without reading the answer. So
/// each device has a share. A turn costs as much as packing a state. If the device gets log entries
/// instead, the unused part is returned once they are packed. So a device that often connects with
/// little to catch up is not delayed, and no device has more packing waiting than its share.
extension ResidentWorkspace {
  /// Takes a turn to bring a device up to date.
  ///
  /// - Returns: whether its share allows that now.
  mutating func takeCatchUpTurn(
    of device: DeviceID, _ configuration: ServerConfiguration, at now: ServerTime
  ) -> Bool {
    let turn = configuration.log.catchUpWorkMax
    let allowance = configuration.devices.catchUps
    var share =
      devices[device]?.catchUps
      ?? TokenBucket(
        perSecond: Int64(turn / allowance.seconds), burst: Int64(turn * allowance.burst),
        uptimeMilliseconds: now.uptimeMilliseconds)
    share.spend(turn, uptimeMilliseconds: now.uptimeMilliseconds)
    guard !share.isEmpty else { return false }
    devices[device]?.catchUps = share
    return true
  }

  /// The store has looked for the entries that a device is missing, whether that device is still
  /// connected or not.
  mutating func catchUpEnded(
    for device: DeviceID, _ outcome: StoreOutcome, _ configuration: ServerConfiguration,
    at now: ServerTime
  ) {
    // A state takes a turn of its own. A failure of the store does not use up the device's share.
    let work = if case .frames(_, let work) = outcome { work } else { 0 }
    devices[device]?.catchUps?.spend(
      work - configuration.log.catchUpWorkMax, uptimeMilliseconds: now.uptimeMilliseconds)
  }
}
