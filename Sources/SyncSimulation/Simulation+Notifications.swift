import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// Devices that show notifications and remember that, and a push service whose pushes fail.
extension Simulation {
  // MARK: - Devices

  /// A program of the device shows a notification, and says so to the store.
  ///
  /// Between the two it may die, or the disk may be full: then it shows it again after a restart,
  /// which no device can rule out.
  func show(_ kept: DeviceNotification, on device: SimulatedDevice) {
    guard options.raisesRequests, device.process != nil else { return }
    log("device \(device.index): shows \(kept.notification.title), \(kept.name)")
    hash.add(Int(truncatingIfNeeded: kept.notification.position))
    device.process?.screen.insert(kept.name)
    let stored: Void? = try? run(on: device) { core, _, store in
      try core.notificationAnnounced(kept.name, store: store)
      return ((), [])
    }
    note(
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

  // MARK: - Push

  /// How many of a hundred pushes the provider does not take.
  private static let pushLossPercent = 40
  private static let pushRetryMilliseconds: Int64 = 500

  /// Registers a place to which notifications of a device are pushed.
  func addPushTarget(of device: DeviceID) {
    server.storage.withState { state in
      state.workspaces[SimulatedServer.workspace]?.inboxes.targets.append(
        PushTargetRecord(
          device: device, id: PushTargetID(high: 0xF, low: device.low), kind: "ntfy",
          address: "https://push.example/\(device.low)", shownAddress: "…", registeredAt: 0))
    }
  }

  func pushSoon() {
    guard options.raisesRequests else { return }
    queue.add(.push(life: server.life), at: now + Simulation.pushRetryMilliseconds / 10)
  }

  /// The push service tries its orders, in order. One that is not taken is tried again, and so is
  /// one after which the service died; that has the same name with its provider, and shows once.
  func push(life: Int) {
    guard life == server.life, server.process != nil else { return }
    let orders = (try? server.storage.pushOrders(after: 0, limit: 16)) ?? []
    for stored in orders {
      if !isSettling, server.generator.chance(Simulation.pushLossPercent) { break }
      note(.pushed(stored))
      if !isSettling, server.generator.chance(5) { break }
      guard (try? server.storage.removePushOrders([stored.number])) != nil else { break }
    }
    guard hasPushOrders else { return }
    queue.add(.push(life: server.life), at: now + Simulation.pushRetryMilliseconds)
  }

  var hasPushOrders: Bool { !server.storage.withState(\.pushOrders).isEmpty }

  /// Whether a device has not answered for something in its inbox.
  var hasUnanswered: Bool {
    options.raisesRequests && inboxRecords.entries.contains { !$0.isAcknowledged }
  }
}
