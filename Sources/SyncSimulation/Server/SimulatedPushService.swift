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

  private var server: SimulatedServer { simulation.server }
  private var storage: MemoryStorage { server.disk.storage }

  /// Registers a push target of a device.
  func addTarget(of device: DeviceID) {
    storage.withState { state in
      state.workspaces[ServerDisk.workspace]?.inboxes.targets.append(
        PushTargetRecord(
          device: device, id: PushTargetID(high: 0xF, low: device.low), kind: "ntfy",
          address: "https://push.example/\(device.low)", shownAddress: "…", registeredAt: 0))
    }
  }

  func pushSoon() {
    guard options.raisesRequests else { return }
    clock.add(
      .push(life: server.life), after: SimulatedPushService.retryMilliseconds / 10)
  }

  /// Tries the orders, in order. An order that is not accepted is retried, as is one after which
  /// the service died. It has the same name with its provider, and is displayed once.
  func push(life: Int) {
    guard life == server.life, server.process != nil else { return }
    let isReliable = simulation.quiescence.isSettling
    let orders = (try? storage.pushOrders(after: 0, limit: 16)) ?? []
    for stored in orders {
      if !isReliable, server.generator.chance(SimulatedPushService.lossPercent) { break }
      simulation.note(.pushed(stored))
      if !isReliable, server.generator.chance(5) { break }
      guard (try? storage.removePushOrders([stored.number])) != nil else { break }
    }
    guard hasOrders else { return }
    clock.add(.push(life: server.life), after: SimulatedPushService.retryMilliseconds)
  }

  var hasOrders: Bool { !storage.withState(\.pushOrders).isEmpty }
}
