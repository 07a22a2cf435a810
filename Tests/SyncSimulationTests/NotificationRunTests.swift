import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// Every device shows every notification once, whatever dies or is lost.
@Suite struct NotificationRunTests {
  /// 1,000 runs: `COSPOOL_SEEDS=1000`.
  @Test func everyDeviceIsShownEveryNotificationOnce() {
    // S4-34, S4-36, S4-37, S4-53
    var shown = 0
    var pushed = 0
    for seed in TestSeeds.list(standard: 40) {
      let world = NotificationRunTests.run(seed: seed)
      #expect(NotificationRunTests.faults(of: world) == [], "COSPOOL_SEED=\(seed)")
      shown += world.devices.reduce(0) { $0 + $1.shown.count }
      pushed += world.alerts.values.reduce(0) { $0 + $1.count }
    }
    #expect(shown > 0 && pushed > 0, "a run in which nothing happens shows nothing")
  }

  private static func run(seed: UInt64) -> NotificationWorld {
    var world = NotificationWorld(seed: seed)
    settle(&world)
    addTargets(&world)
    world.begin()
    settle(&world)
    for _ in 0..<400 { step(&world) }
    heal(&world)
    return world
  }

  private static func addTargets(_ world: inout NotificationWorld) {
    for index in 1...2 {
      let request = InboxRequest.setTarget(
        PushTargetID(high: 1, low: UInt64(index)), kind: "ntfy", address: "https://n.example/t")
      world.tell(index) { core, _, _ in core.inboxQuestionAsked(request, id: 1) ?? [] }
    }
  }

  private static func step(_ world: inout NotificationWorld) {
    let index = world.generator.below(world.devices.count)
    switch world.generator.below(100) {
    case 0..<12: world.agentGoesOn()
    case 12..<40: world.deliver(on: index, toServer: true)
    case 40..<66: world.deliver(on: index, toServer: false)
    case 66..<78: world.doTask(diesAfterwards: world.generator.chance(6))
    case 78..<88: world.pass(Int64(world.generator.below(3_000)))
    case 88..<90: world.cut(index)
    case 90..<92 where index > 0:
      world.devices[index].isOnline.toggle()
      if !world.devices[index].isOnline { world.cut(index) }
    case 92..<93: world.killServer()
    case 93..<95: if world.server == nil { world.startServer() }
    case 95..<96 where index > 0: world.restartDevice(index)
    case 96..<97:
      let fails = world.generator.chance(50)
      world.devices[index].store.fault =
        fails ? StoreError(code: .full, message: "no space") : nil
    case 97..<98:
      let fails = world.generator.chance(50)
      world.storage.withState {
        $0.writeFault = fails ? StorageFault(code: .full, message: "no space") : nil
      }
    default: world.push(failing: 60)
    }
  }

  /// From now on nothing fails, until nothing is left to do.
  private static func heal(_ world: inout NotificationWorld) {
    world.storage.withState { $0.writeFault = nil }
    if world.server == nil { world.startServer() }
    for index in world.devices.indices {
      world.devices[index].store.fault = nil
      world.devices[index].isOnline = true
    }
    for _ in 0..<40 {
      settle(&world)
      world.pass(2_000)
    }
    settle(&world)
    world.push(failing: 0)
  }

  private static func settle(_ world: inout NotificationWorld) {
    var isBusy = true
    while isBusy {
      isBusy = !world.tasks.isEmpty
      world.doTask(diesAfterwards: false)
      for index in world.devices.indices {
        if world.deliver(on: index, toServer: true) { isBusy = true }
        if world.deliver(on: index, toServer: false) { isBusy = true }
      }
    }
  }

  // MARK: - Invariants

  private static func faults(of world: NotificationWorld) -> [String] {
    var faults: [String] = []
    let open = world.devices[0].core.replica.workspace.task(of: NotificationWorld.session)?
      .status.request?.id
    let head = world.storage.withState {
      $0.workspaces[NotificationWorld.workspace]?.head
    }
    for (number, device) in world.devices.enumerated() {
      if device.core.replica.record.prefix != head { faults.append("\(number): behind") }
      for (name, count) in device.shown where count > 1 {
        faults.append("\(number): \(name) was shown \(count) times")
      }
      for (name, count) in device.retracted where count > 1 {
        faults.append("\(number): \(name) was taken back \(count) times")
      }
      if number == 0 {
        if !device.shown.isEmpty { faults.append("the host was notified of its own request") }
        continue
      }
      let standing = Set(device.core.notifications.map(\.name))
      for item in world.posted.values {
        let isOpen = item.request != nil && item.request == open
        if item.request == nil || isOpen {
          if device.shown[item.name] == nil { faults.append("\(number): \(item.name) is missing") }
          if !standing.contains(item.name) { faults.append("\(number): \(item.name) is gone") }
        } else if standing.contains(item.name) {
          faults.append("\(number): \(item.name) stands though it is settled")
        }
      }
    }
    return faults + inboxFaults(of: world, open: open)
  }

  private static func inboxFaults(of world: NotificationWorld, open: RequestID?) -> [String] {
    var faults: [String] = []
    let records = world.storage.withState {
      $0.workspaces[NotificationWorld.workspace]?.inboxes ?? InboxRecords()
    }
    for entry in records.entries where !entry.isAcknowledged {
      faults.append("\(entry.device.low): \(entry.position) was never acknowledged")
    }
    for (device, alerts) in world.alerts {
      for (name, count) in alerts {
        if count > 1 { faults.append("\(device.low): \(name) was pushed \(count) times") }
        guard let item = world.posted[name], let request = item.request, request != open else {
          continue
        }
        if world.retractions[device]?[name] != 1 {
          faults.append("\(device.low): \(name) was pushed, and not taken back")
        }
      }
    }
    for (device, retractions) in world.retractions {
      for (name, _) in retractions where world.alerts[device]?[name] == nil {
        faults.append("\(device.low): \(name) was taken back, and never pushed")
      }
    }
    return faults
  }
}
