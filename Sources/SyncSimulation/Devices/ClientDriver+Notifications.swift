import ClientCore
import SequenceCRDT
import WireProtocol

/// Programs of a device that show notifications on its screen and remember that.
extension ClientDriver {
  /// A program shows a notification, and says so to the store.
  ///
  /// Between the two it may die, or the disk may be full: then it shows it again after a restart,
  /// which no device can rule out.
  func show(_ kept: DeviceNotification, on device: SimulatedDevice) {
    guard options.raisesRequests, device.process != nil else { return }
    results.log("device \(device.index): shows \(kept.notification.title), \(kept.name)")
    results.hash.add(Int(truncatingIfNeeded: kept.notification.position))
    device.process?.screen.insert(kept.name)
    let stored: Void? = try? run(on: device) { core, _, store in
      try core.notificationAnnounced(kept.name, store: store)
      return ((), [])
    }
    simulation.note(
      .shown(device: device.index, kept.notification, isRemembered: stored != nil))
  }

  /// A process begins: what stands is on the screen, what nobody showed before is shown.
  func showStanding(on device: SimulatedDevice) {
    guard let standing = device.process?.core.notifications else { return }
    device.process?.screen = Set(standing.map(\.name))
    for kept in standing where !kept.isAnnounced { show(kept, on: device) }
  }

  func takeBack(_ name: OperationID, on device: SimulatedDevice) {
    guard !options.planted.contains(.retractionLost) else { return }
    device.process?.screen.remove(name)
  }
}
