import QueueModel
import QueueOracle
import ServerCore

/// The push service next to the server: it carries out the stored orders, with a provider that does
/// not accept every push.
final class SimulatedPushService: SimulationPart {
  /// The percentage of pushes that the provider does not accept.
  private static let lossPercent = 40
  private static let retryMilliseconds: Int64 = 500

  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  private var storage: MemoryStorage { simulation.server.disk.storage }

  /// Registers a push target of a device.
  func addTarget(of device: DeviceID) {
    storage.withState { state in
      state.workspaces[ServerDisk.workspace]?.inboxes.targets.append(
        PushTargetRecord(
          device: device, id: PushTargetID(high: 0xF, low: device.low), kind: "ntfy",
          address: "https://push.example/\(device.low)", shownAddress: "…", registeredAt: 0))
    }
  }

  /// - Parameter life: that of the server, or of the node.
  func pushSoon(life: Int) {
    guard options.raisesRequests else { return }
    clock.add(.push(life: life), after: SimulatedPushService.retryMilliseconds / 10)
  }

  /// Tries the orders, in order. An order that is not accepted is retried, as is one after which
  /// the service died. It has the same name at its provider, and is displayed once.
  func push(life: Int) {
    guard let server = simulation.nodes.first(where: { $0.life == life }), server.process != nil
    else { return }
    guard mayPush(server) else {
      return clock.add(.push(life: life), after: SimulatedPushService.retryMilliseconds)
    }
    let isReliable = simulation.quiescence.isSettling
    let orders = (try? storage.pushOrders(after: 0, limit: 16)) ?? []
    for stored in orders {
      if !isReliable, server.generator.chance(SimulatedPushService.lossPercent) { break }
      if simulation.nodes.count > 1 { simulation.note(.pushing(node: server.index)) }
      simulation.note(.pushed(stored))
      if !isReliable, server.generator.chance(5) { break }
      guard (try? storage.removePushOrders([stored.number])) != nil else { break }
    }
    guard hasOrders else { return }
    clock.add(.push(life: life), after: SimulatedPushService.retryMilliseconds)
  }

  /// Whether a node can reach the store and serves the workspace.
  private func mayPush(_ node: SimulatedServer) -> Bool {
    guard simulation.nodes.count > 1 else { return true }
    return !node.trouble.isPaused(at: clock.now) && !node.trouble.isCut(at: clock.now)
      && (node.disk.owner == node.index || options.planted.contains(.pushByNonOwner))
  }

  var hasOrders: Bool { !storage.withState(\.pushOrders).isEmpty }
}
