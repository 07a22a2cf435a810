import ClientCore
import SequenceCRDT
import WireProtocol

/// The program of a device that shows notifications on its screen and remembers that.
extension ClientDriver {
  /// Shows a notification, and records that it did.
  ///
  /// In between, the program may die, or the disk may be full. Then it shows the notification again
  /// after a restart, which cannot be prevented.
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

  /// A process begins: the screen shows open notifications, and those that were never shown.
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
