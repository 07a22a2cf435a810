import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore

/// A waiting notification is pushed in time and once. If it was a request that is no longer open,
/// it is retracted.
///
/// A server whose store went back in time does not know what it pushed meanwhile.
final class PushChecker: SimulationChecker {
  let name = "push"

  private struct Key: Hashable {
    var device: DeviceID
    var name: OperationID
  }

  private struct Alert {
    var order: Int64
    var notification: StoredNotification
    var serverRestores: Int
  }

  /// How long a notification may wait for its push if nothing delays that: the time in which a
  /// device may answer, and the time in which the server detects a lost connection.
  private static let waitMillisecondsMax: Int64 = 60_000

  private var alerts: [Key: Alert] = [:]
  /// Since when each inbox entry could have been pushed.
  private var waiting: [Key: Int64] = [:]
  /// The server process, and the connections of each device, to which `waiting` applies.
  private var life = 0
  private var connections: [DeviceID: Set<Int>] = [:]
  private var retracted: Set<Key> = []
  private var serverRestores = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server): serverRestores += 1
    // Takeovers delay pushes, like restarts.
    case .serverTicked: return simulation.nodes.count == 1 ? late(in: simulation) : []
    case .pushed(let stored):
      let order = stored.order
      let key = Key(device: order.device, name: order.notification.name)
      switch order.kind {
      case .alert:
        let earlier = alerts[key]
        alerts[key] = Alert(
          order: stored.number, notification: order.notification, serverRestores: serverRestores)
        guard let earlier else {
          simulation.results.execution.notifications.pushes += 1
          return []
        }
        guard earlier.serverRestores == serverRestores, earlier.order != stored.number else {
          return []
        }
        return ["\(key.name) is pushed to \(key.device) twice"]
      case .retract:
        retracted.insert(key)
        return alerts[key] == nil
          ? ["\(key.name) is retracted from \(key.device), but was never pushed"] : []
      }
    default: break
    }
    return []
  }

  // MARK: - In time

  /// Notifications that have waited too long.
  ///
  /// The time restarts with the server, with a change of its store, and with every connection of
  /// the device that begins or ends. Nothing is pushed to a device that its user is looking at.
  private func late(in simulation: Simulation) -> [String] {
    let server = simulation.server
    guard server.life == life, server.disk.condition == .working,
      server.process?.core.isHealthy == true
    else {
      life = server.life
      waiting = [:]
      return []
    }
    let records = simulation.server.disk.inboxRecords
    let names = Dictionary(
      records.notifications.map { ($0.position, $0.name) }, uniquingKeysWith: { first, _ in first })
    let open = Dictionary(
      grouping: (server.process?.pipes.values).map(Array.init) ?? [],
      by: { simulation.devices[$0.device].files.device }
    ).mapValues { Set($0.map(\.number)) }
    defer { connections = open }
    let pushable = Set(
      records.targets.filter { $0.isValid && $0.takesNotices }.map(\.device)
    ).filter { open[$0] == connections[$0] && !isLookedAt($0, in: simulation) }
    var found: [String] = []
    var left: [Key: Int64] = [:]
    for entry in records.entries
    where !entry.isPushed && !entry.isAcknowledged && pushable.contains(entry.device) {
      guard let name = names[entry.position] else { continue }
      let key = Key(device: entry.device, name: name)
      let since = waiting[key] ?? simulation.clock.now
      left[key] = since
      guard simulation.clock.now - since > PushChecker.waitMillisecondsMax else { continue }
      found.append("\(name) has waited for \(entry.device) since \(since) without a push")
    }
    waiting = left
    return found.sorted()
  }

  private func isLookedAt(_ id: DeviceID, in simulation: Simulation) -> Bool {
    simulation.devices.contains { device in
      guard let process = device.process, device.files.device == id else { return false }
      return process.core.isVisible(now: simulation.clock.now - process.clockOrigin)
    }
  }

  // MARK: - At rest

  func settled(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    var found: [String] = []
    for (key, alert) in alerts where alert.serverRestores == serverRestores {
      guard let request = alert.notification.request, !retracted.contains(key),
        !workspace.awaits(request, in: alert.notification.session)
      else { continue }
      found.append("\(key.name) was pushed to \(key.device), ended, and was not retracted")
    }
    return found.sorted()
  }
}
