import ClientCore
import QueueModel
import ServerCore

/// No message waits without a reason. If a message can start on a host whose machine, link and
/// server work, it starts within a minute, while the run continues and before anything is repaired.
/// Nothing starts that the users at the host do not allow.
final class StandstillChecker: SimulationChecker {
  let name = "standstill"

  /// The time limit: longer than another holder's remaining lease and the pauses after it.
  private static let waitMillisecondsMax: Int64 = 60_000

  private struct Head: Hashable {
    var device: Int
    var life: Int
    var session: SessionID
    var message: MessageID
    var attempt: UInt16
    /// With several nodes, the connection: a workspace that moves makes devices wait. Otherwise the
    /// server's process: one that starts again waits for the leases of the former one.
    var connection: Int
  }

  /// Since when a message could have started, without interruption.
  private var since: [Head: Int64] = [:]

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .agentStarted(let device, let order):
      guard !simulation.hosts.mayStart(order.session, on: simulation.devices[device]) else {
        return []
      }
      return ["\(order.message) begins on device \(device), whose users do not allow it"]
    case .sampled: return sample(simulation)
    default: return []
    }
  }

  private func sample(_ simulation: Simulation) -> [String] {
    var waiting: [Head: Int64] = [:]
    for device in simulation.devices {
      guard let connection = workingConnection(of: device, simulation) else { continue }
      for head in heads(of: device, connection, simulation) {
        waiting[head] = since[head] ?? simulation.clock.now
      }
    }
    since = waiting
    let late = waiting.filter {
      simulation.clock.now - $0.value > StandstillChecker.waitMillisecondsMax
    }
    for head in late.keys { since[head] = simulation.clock.now }
    return late.keys.map {
      "\($0.message) could have begun on device \($0.device) a minute ago"
    }.sorted()
  }

  /// The connection or server, if the machine, its link and the server work; nil otherwise.
  private func workingConnection(
    of device: SimulatedDevice, _ simulation: Simulation
  ) -> Int? {
    guard let process = device.process, !device.isAsleep, device.condition == .working,
      process.store.death == nil, simulation.devices.copies(of: device).count == 1
    else { return nil }
    guard process.core.hasServer else { return 0 }
    guard device.isOnline, device.network.cloggedUntil <= simulation.clock.now,
      process.core.problem == nil, process.core.isSynced,
      simulation.server.disk.condition == .working,
      let pipe = process.pipes.values.first(where: { pipe in
        let node = simulation.nodes[pipe.serverEnd.node]
        return simulation.isServed(pipe) && node.process?.core.isHealthy == true
          && !node.trouble.isPaused(at: simulation.clock.now)
          && !node.trouble.isCut(at: simulation.clock.now)
      })
    else { return nil }
    return simulation.nodes.count == 1 ? simulation.server.life : pipe.number
  }

  private func heads(
    of device: SimulatedDevice, _ connection: Int, _ simulation: Simulation
  ) -> [Head] {
    guard let process = device.process else { return [] }
    let workspace = process.core.replica.workspace
    let time = simulation.quiescence.time(of: process, on: device)
    return workspace.sessions().compactMap { view in
      // A turn of another device keeps the session until it ends or a user takes it over.
      guard process.core.runsElsewhere[view.id] == nil,
        view.waiting > 0, view.host == device.files.device,
        simulation.hosts.mayStart(view.id, on: device),
        let (message, state) = workspace.startable(in: view.id, by: time),
        state.earliest ?? 0 <= time,
        !isAtWork(in: view.id, on: message, simulation)
      else { return nil }
      let attempt = state.runState.run?.attempt ?? 0
      guard attempt < .max else { return nil }
      return Head(
        device: device.index, life: device.life, session: view.id, message: message,
        attempt: attempt, connection: connection)
    }
  }

  /// Whether an agent of any device works in the session, or on the message in another one.
  private func isAtWork(
    in session: SessionID, on message: MessageID, _ simulation: Simulation
  ) -> Bool {
    simulation.devices.contains { device in
      device.process?.agents.values.contains {
        $0.order.session == session || $0.order.message == message
      } ?? false
    }
  }
}
