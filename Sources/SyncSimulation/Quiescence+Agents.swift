import ClientCore
import QueueModel

/// Waits until hosts have run all messages.
extension Quiescence {
  /// The time limit, after the repair, for hosts to run everything that can run.
  private static let restMillisecondsMax: Int64 = 3_600_000

  /// The limit up to which a future time is awaited. Clocks may be decades off, so a later time may
  /// never come.
  private static let nearMilliseconds: Int64 = 60_000

  /// - Returns: whether they succeeded.
  func bringAgentsToRest() -> Bool {
    let end = clock.now + Quiescence.restMillisecondsMax
    while clock.now < end {
      guard settle(withinMilliseconds: 120_000) else { continue }
      for device in devices { simulation.hosts.freeAgents(of: device) }
      if openWork == nil { return true }
      simulation.people.takeOverWhatIsAbsent()
      simulation.advance(milliseconds: 500)
    }
    results.addViolation(
      "stall", "an hour after healing, \(openWork ?? "devices are not quiet: \(unsettled)")")
    return false
  }

  /// The messages that run or could run, as text; nil if there are none.
  private var openWork: String? {
    for device in devices {
      guard let process = device.process else { continue }
      if let agent = process.agents.values.first(where: { !$0.isOpen }) {
        return "device \(device.index) runs \(agent.order.message)"
      }
      let workspace = process.core.replica.workspace
      // Of several copies of a host, one has the lease, and that one's clock counts.
      let times = devices.copies(of: device).compactMap { copy in
        copy.process.map { time(of: $0, on: copy) }
      }
      for session in workspace.sessions()
      where workspace.host(of: session.id) == .some(.some(device.files.device))
        && !devices.contains(where: { $0.process?.agents[session.id]?.isOpen == true })
      {
        if let message = startable(in: session.id, workspace, by: times.min() ?? clock.wall) {
          let context = context(of: process, on: device)
          let obstacle = process.core.startObstacles(of: [session.id], at: context)[session.id]
          return "\(message) waits for device \(device.index), "
            + (obstacle.map { "which reports \($0)" } ?? "which reports no reason")
        }
      }
    }
    return nil
  }

  /// The message that its host must start now, or soon.
  private func startable(
    in session: SessionID, _ workspace: Workspace, by time: Int64
  ) -> MessageID? {
    // The limit up to which a future time is awaited.
    let soon = time &+ Quiescence.nearMilliseconds
    let line = [time, soon].lazy.map { QueueLine(of: session, in: workspace, by: $0) }
      .first { $0.first != nil }
    guard let first = line?.first, let view = try? workspace.messageQueue(session),
      let head = view.messages.first(where: { $0.id == first })
    else { return nil }
    if head.status == .running {
      // Its turn continues where it began, even if it was moved to another session. If no agent has
      // it, the host must find out.
      let isAsked = devices.contains { device in
        device.process?.agents.values.contains { $0.isOpen && $0.order.message == head.id }
          == true
      }
      return isAsked ? nil : head.id
    }
    guard !view.paused, head.status == .queued,
      let state = workspace.dispatchState(of: head.id), !state.queueStands,
      (head.run?.attempt ?? 0) < .max
    else { return nil }
    let earliest = max(head.notBefore ?? 0, head.heldUntil ?? 0)
    return earliest > soon ? nil : head.id
  }

  /// The time that both the asking host and the granting server must have reached: the earlier one.
  func time(of process: SimulatedDevice.Process, on host: SimulatedDevice) -> Int64 {
    let context = context(of: process, on: host)
    let seen = process.core.serverClock?.time(at: context) ?? context.wall
    let offset = simulation.nodes.map(\.clockOffset).min() ?? 0
    return min(seen, clock.wall &+ offset)
  }

  private func context(of process: SimulatedDevice.Process, on host: SimulatedDevice)
    -> EventContext
  {
    EventContext(
      now: clock.now - process.clockOrigin, wall: clock.wall &+ host.clockOffset, random: 0)
  }
}
