import ClientCore
package import QueueModel
import QueueOracle
package import SequenceCRDT
package import WireProtocol

/// A request to stop an attempt.
package struct AskedStop: Sendable {
  package var attempt: AttemptName
  /// What its host had reported of it.
  package var run: Run
  /// The `live` tags of the message that the user saw.
  package var tags: Set<OperationID>
  /// How many times the server's store had gone back in time when it was asked.
  package var serverRestores: Int
}

/// Users who continue without the turn of an absent device, or stop one from another device.
extension SimulatedPeople {
  /// A user at a device sees that an absent device keeps one of its sessions, and sometimes takes
  /// over the turn.
  func takeOverSometimes(on device: SimulatedDevice) {
    guard options.runsAgents, let first = absent(on: device).first, device.generator.chance(20)
    else { return }
    ask(.takeOver(first), on: device)
  }

  /// Takes over all turns of absent devices that keep sessions of devices here.
  func takeOverWhatIsAbsent() {
    for device in simulation.devices {
      for attempt in absent(on: device) { ask(.takeOver(attempt), on: device) }
    }
  }

  /// A user stops, from anywhere, a turn of a session.
  func stopSometimes(on device: SimulatedDevice) {
    guard options.runsAgents, device.generator.chance(2),
      let workspace = device.process?.core.replica.workspace
    else { return }
    let running = workspace.sessions().compactMap { session in
      (try? workspace.messageQueue(session.id))?.messages.first { $0.status == .running }
    }
    guard let message = device.generator.pick(running), let run = message.run else { return }
    let stop = AskedStop(
      attempt: AttemptName(message: message.id, number: run.attempt), run: run,
      tags: Set(workspace.dispatchState(of: message.id)?.tags ?? []),
      serverRestores: simulation.server.disk.restores)
    guard device.process?.core.running[message.session]?.message == message.id else {
      return ask(.stop(stop.attempt), stop, on: device)
    }
    results.log("device \(device.index): stops its agent of \(message.id)")
    let isStopped = simulation.clients.run(on: device) { core, context, store in
      let actions = core.agentStopRequested(message.session, at: context, store: store)
      return (actions != nil, actions ?? [])
    }
    if isStopped == true { simulation.note(.stopReported(stop)) }
  }

  /// The user who asked learns whether an attempt stops.
  func reportStop(_ answer: AuthorityAnswer, to question: UInt64, on device: SimulatedDevice) {
    guard let stop = device.process?.stops.removeValue(forKey: question),
      case .stopping = answer
    else { return }
    simulation.note(.stopReported(stop))
  }

  private func absent(on device: SimulatedDevice) -> [AttemptName] {
    let elsewhere = device.process?.core.runsElsewhere ?? [:]
    return elsewhere.sorted { $0.key < $1.key }.map(\.value.atWork)
      .filter { $0.awaySince != nil }.map(\.attempt)
  }

  private func ask(
    _ request: AuthorityRequest, _ stop: AskedStop? = nil, on device: SimulatedDevice
  ) {
    let question = device.generator.next()
    device.process?.stops[question] = stop
    results.log("device \(device.index): asks \(request)")
    simulation.clients.tell(device) { core, context, store in
      (try? core.questionAsked(request, id: question, at: context, store: store)) ?? []
    }
  }
}
