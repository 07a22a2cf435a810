import ClientCore
import QueueModel
import QueueOracle
import WireProtocol

/// Users who continue without the turn of an absent device, or have one stopped from another
/// device.
extension SimulatedPeople {
  /// A user at a device sees that another one, which is absent, keeps a session of it; sometimes
  /// the user takes the turn over.
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
    ask(.stop(AttemptName(message: message.id, number: run.attempt)), on: device)
  }

  private func absent(on device: SimulatedDevice) -> [AttemptName] {
    let elsewhere = device.process?.core.runsElsewhere ?? [:]
    return elsewhere.sorted { $0.key < $1.key }.map(\.value.atWork)
      .filter { $0.awaySince != nil }.map(\.attempt)
  }

  private func ask(_ request: AuthorityRequest, on device: SimulatedDevice) {
    let question = device.generator.next()
    results.log("device \(device.index): asks \(request)")
    simulation.clients.tell(device) { core, context, store in
      core.questionAsked(request, id: question, at: context, store: store) ?? []
    }
  }
}
