import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore

/// What is pushed is pushed once, and taken back where it was a request that is over.
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

  private var alerts: [Key: Alert] = [:]
  private var retracted: Set<Key> = []
  private var serverRestores = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server): serverRestores += 1
    case .pushed(let stored):
      let order = stored.order
      let key = Key(device: order.device, name: order.notification.name)
      switch order.kind {
      case .alert:
        let earlier = alerts[key]
        alerts[key] = Alert(
          order: stored.number, notification: order.notification, serverRestores: serverRestores)
        guard let earlier else { simulation.execution.pushes += 1; return [] }
        guard earlier.serverRestores == serverRestores, earlier.order != stored.number else {
          return []
        }
        return ["\(key.name) is pushed to \(key.device) twice"]
      case .retract:
        retracted.insert(key)
        return alerts[key] == nil
          ? ["\(key.name) is taken back from \(key.device), and was never pushed"] : []
      }
    default: break
    }
    return []
  }

  func settled(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    var found: [String] = []
    for (key, alert) in alerts where alert.serverRestores == serverRestores {
      guard let request = alert.notification.request, !retracted.contains(key),
        workspace.task(of: alert.notification.session)?.status.request != request
      else { continue }
      found.append("\(key.name) was pushed to \(key.device), is over, and was not taken back")
    }
    return found.sorted()
  }
}
