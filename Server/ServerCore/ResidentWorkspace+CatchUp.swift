import QueueModel

/// Packing is dear, and a device may ask for it again and again without reading the answer: each has a share of
/// it. A turn costs as much as packing a state does; who is sent entries of the log gets back what these did not
/// take, once they are packed. So who comes back often with little behind is not held up, and nobody has more
/// waiting to be packed than its share.
extension ResidentWorkspace {
  /// A device is to be brought up to the present.
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

  /// The store has looked for what a device lacks in the log, whether that device is still there or not.
  mutating func catchUpEnded(
    for device: DeviceID, _ outcome: StoreOutcome, _ configuration: ServerConfiguration,
    at now: ServerTime
  ) {
    // A state takes a turn of its own; and the store's failure is not the device's.
    let work = if case .frames(_, let work) = outcome { work } else { 0 }
    devices[device]?.catchUps?.spend(
      work - configuration.log.catchUpWorkMax, uptimeMilliseconds: now.uptimeMilliseconds)
  }
}
