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
  /// The message for which it is to stop; nil if it is just to stop.
  package var follower: MessageID?
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
    guard let message = device.generator.pick(running),
      let stop = stop(of: message, seenIn: workspace)
    else { return }
    if !stopHere(stop, in: message.session, on: device) {
      ask(.stop(stop.attempt), stop, on: device)
    }
  }

  /// A user who puts a message first wants what they see running to be stopped for it.
  func interrupt(for command: Command, seenIn before: Workspace, on device: SimulatedDevice) {
    guard options.runsAgents, case .send(let send) = command, send.goesFirst,
      let running = (try? before.messageQueue(send.session))?.messages
        .first(where: { $0.status == .running }),
      var stop = stop(of: running, seenIn: before)
    else { return }
    stop.follower = send.id
    guard mayStop(stop, for: send.id, on: device) else { return }
    // Only a server that answers may be asked to stop it: the answer comes when it has the message.
    if !stopHere(stop, in: send.session, on: device) {
      ask(.outcome(running.id), stop, on: device)
    }
  }

  private func mayStop(
    _ stop: AskedStop, for message: MessageID, on device: SimulatedDevice
  ) -> Bool {
    guard let workspace = device.process?.core.replica.workspace else { return false }
    let obstacle = InterruptObstacle.found(
      for: message, stopping: (stop.attempt.message, stop.attempt.number), in: workspace,
      by: clock.wall &+ device.clockOffset)
    return obstacle == nil
  }

  private func stop(of message: MessageView, seenIn workspace: Workspace) -> AskedStop? {
    message.run.map { run in
      AskedStop(
        attempt: AttemptName(message: message.id, number: run.attempt), run: run,
        tags: Set(workspace.dispatchState(of: message.id)?.tags ?? []),
        serverRestores: simulation.server.disk.restores)
    }
  }

  /// - Returns: whether the attempt runs on this device, which stops it.
  private func stopHere(
    _ stop: AskedStop, in session: SessionID, on device: SimulatedDevice
  ) -> Bool {
    guard device.process?.core.running[session]?.message == stop.attempt.message else {
      return false
    }
    results.log("device \(device.index): stops its agent of \(stop.attempt.message)")
    let isStopped = simulation.clients.run(on: device) { core, context, store in
      let actions = core.agentStopRequested(session, at: context, store: store)
      return (actions != nil, actions ?? [])
    }
    if isStopped == true { simulation.note(.stopReported(stop)) }
    return true
  }

  /// The user who asked learns whether an attempt stops, or may be stopped for a message.
  func reportStop(_ answer: AuthorityAnswer, to question: UInt64, on device: SimulatedDevice) {
    guard var stop = device.process?.stops.removeValue(forKey: question) else { return }
    switch (answer, stop.follower) {
    case (.stopping, _): simulation.note(.stopReported(stop))
    case (.outcome(stop.attempt.number, _, _), let follower?)
    where mayStop(stop, for: follower, on: device):
      stop.serverRestores = simulation.server.disk.restores
      ask(.stop(stop.attempt), stop, on: device)
    default: break
    }
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
