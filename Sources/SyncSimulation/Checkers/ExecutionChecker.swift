import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// No attempt starts twice. No message starts that the server knew to be cancelled. Agents get the
/// text that the server knew. In the end, every start has an outcome, or a reason for having none.
///
/// If the server's store went back to before a start, the server cannot know of it unless a device
/// reports it. Such repetitions are counted separately.
final class ExecutionChecker: SimulationChecker {
  let name = "execution"

  private struct Attempt: Hashable {
    var message: MessageID
    var number: UInt16
  }

  private struct Grant {
    var token: UInt64
    var content: UInt64
    /// How many times the server's store had already gone back in time.
    var serverRestores: Int
  }

  private struct Start {
    var device: Int
    var token: UInt64
    /// The same at the time of the grant, whose answer may have been on its way when the store went
    /// back once more.
    var serverRestores: Int
  }

  private var starts: [Attempt: Start] = [:]
  /// The server's grants, with the text that it knew. Two servers may grant one attempt, each under
  /// its own token.
  private var granted: [Attempt: [Grant]] = [:]
  /// Attempts that a user took over: their outcome is unknown, whatever their agents report.
  private var takenOver: Set<Attempt> = []
  /// The latest attempt that succeeded, and its lease's token.
  private var succeeded: [MessageID: (attempt: UInt16, token: UInt64)] = [:]
  /// The server's stored state, updated with each commit: loading it for each attempt would take
  /// longer than everything else.
  private var stored: Workspace?
  private var serverRestores = 0
  private var deviceRestores = 0

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server):
      serverRestores += 1
      stored = nil
    case .joined:
      stored = nil
    case .committed(let entries, _):
      learn(entries)
    case .rolledBack(.device):
      deviceRestores += 1
    case .granted(let dispatches):
      return check(dispatches, in: simulation)
    case .intervened(let dispatches):
      takenOver.formUnion(
        dispatches.filter { $0.intervention == .takeOver }.map {
          Attempt(message: $0.message, number: $0.attempt)
        })
    case .agentStarted(let device, let order):
      return check(order, by: device, in: simulation)
    case .agentSucceeded(_, let order):
      // The end of a turn does not count if its lease has passed to the next holder.
      if !simulation.options.isAlone, let lease = simulation.server.disk.lease(of: order.session),
        lease.token > order.token
      {
        break
      }
      succeeded[order.message] = (order.attempt, order.token)
    default:
      break
    }
    return []
  }

  private func learn(_ entries: [LogEntry]) {
    guard stored != nil else { return }
    do {
      for entry in entries {
        _ = try stored?.merge(PackedDelta.unpack(entry.content.bytes))
      }
    } catch {
      stored = nil
    }
  }

  /// A granted message waits in its queue in the server's state at that moment.
  private func check(_ dispatches: [Dispatch], in simulation: Simulation) -> [String] {
    guard let workspace = stored ?? (try? simulation.server.disk.storedWorkspace()) else {
      return []
    }
    stored = workspace
    return dispatches.compactMap { dispatch in
      let attempt = Attempt(message: dispatch.message, number: dispatch.attempt)
      granted[attempt, default: []].append(
        Grant(token: dispatch.token, content: dispatch.content, serverRestores: serverRestores))
      guard let message = try? workspace.message(dispatch.message) else {
        return "\(dispatch.message) was granted, but the server does not know it"
      }
      guard message.status == .queued else {
        return "\(dispatch.message) was granted while \(message.status)"
      }
      let waitsForALook = workspace.session(message.session)?.onMerge != .run
      guard !message.isMerged || !waitsForALook else {
        return "\(dispatch.message) was granted with an unchecked merged text"
      }
      return DispatchRequest.contentDigest(message.content) == dispatch.content
        ? nil : "\(dispatch.message) was granted with a text that the server does not have"
    }
  }

  private func check(
    _ order: StartOrder, by device: Int, in simulation: Simulation
  ) -> [String] {
    var found: [String] = []
    let attempt = Attempt(message: order.message, number: order.attempt)
    let grant = granted[attempt]?.last { $0.token == order.token }
    let life = grant?.serverRestores ?? serverRestores
    if let earlier = starts[attempt] {
      if earlier.serverRestores == life {
        simulation.results.execution.doubleStarts += 1
        found.append(
          "attempt \(order.attempt) of \(order.message) started on device \(earlier.device) with "
            + "token \(earlier.token), and on device \(device) with token \(order.token)")
      } else {
        simulation.results.execution.repeatsAfterRestore += 1
      }
    }
    starts[attempt] = Start(device: device, token: order.token, serverRestores: life)
    // A device that is its own authority does not report its grants.
    if simulation.options.isAlone { return found }
    guard let grant else {
      return found + ["\(order.message) started on device \(device) without a grant"]
    }
    if grant.content != DispatchRequest.contentDigest(order.text) {
      found.append("the agent of \(order.message) got a text that was not granted")
    }
    return found
  }

  func settled(in simulation: Simulation) -> [String] {
    if simulation.options.isAlone { return unaccounted(in: simulation) }
    if let stored, let server = try? simulation.server.disk.storedWorkspace(),
      server.vector != stored.vector
    {
      return ["the checker knows \(stored.vector.sorted), the server \(server.vector.sorted)"]
    }
    return unaccounted(in: simulation)
  }

  private func unaccounted(in simulation: Simulation) -> [String] {
    guard let workspace = simulation.devices.first?.process?.core.replica.workspace else {
      return []
    }
    // A store that went back in time may no longer know of it.
    guard serverRestores == 0, deviceRestores == 0 else { return [] }
    var found: [String] = []
    for attempt in starts.keys.sorted(by: { $0.message < $1.message }) {
      guard let message = try? workspace.message(attempt.message) else { continue }
      if let success = succeeded[attempt.message], message.status == .queued,
        !wasFenced(attempt.message, success)
      {
        found.append("\(attempt.message) was done, but waits again")
      }
      if (message.run?.attempt ?? 0) < attempt.number {
        found.append("no device knows of attempt \(attempt.number) of \(attempt.message)")
      }
    }
    return found
  }

  /// A success under a lease that has ended does not count. The next holder, for example a copy of
  /// the same disk or a device that took the turn over, may have reported the outcome as unknown,
  /// and a user may have retried it.
  private func wasFenced(
    _ message: MessageID, _ success: (attempt: UInt16, token: UInt64)
  ) -> Bool {
    takenOver.contains(Attempt(message: message, number: success.attempt))
      || granted.contains { attempt, grants in
        attempt.message == message && attempt.number > success.attempt
          && grants.contains { $0.token > success.token }
      }
  }
}
