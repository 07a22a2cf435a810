import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// If the server reports that a withdrawal or an edit was in time, then an attempt that it granted
/// without knowing of the change never starts, and has not started.
///
/// An attempt that was granted with knowledge of the change may start: another device may have
/// restored the message at the same time. A server does not count if its store went back to before
/// the change, or to before the attempt and has not learned of it since.
final class OutcomeChecker: SimulationChecker {
  let name = "outcomes"

  private struct Grant {
    var attempt: UInt16
    var token: UInt64
    var content: UInt64
    /// The operations that the server had stored when it granted the attempt.
    var known: VersionVector
    var serverRestores: Int
    var hasStarted = false
  }

  private struct Promise {
    var device: Int
    var asked: AskedRace
    /// The latest attempt that the server knew of.
    var knownAttempt: UInt16
  }

  /// The operations that the server has stored.
  private var stored = VersionVector()
  private var grants: [MessageID: [Grant]] = [:]
  private var promises: [MessageID: [Promise]] = [:]

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .committed(let entries, _):
      for operation in entries.flatMap({ (try? PackedDelta.unpack($0.content.bytes)) ?? [] }) {
        guard let last = operation.lastID else { continue }
        stored[last.replica] = max(stored[last.replica], last.seq)
      }
      return []
    case .rolledBack(.server), .joined:
      stored = (try? simulation.server.disk.storedWorkspace().vector) ?? VersionVector()
      return []
    case .granted(let dispatches):
      for dispatch in dispatches {
        grants[dispatch.message, default: []].append(
          Grant(
            attempt: dispatch.attempt, token: dispatch.token, content: dispatch.content,
            known: stored, serverRestores: simulation.server.disk.restores))
      }
      return []
    case .agentStarted(_, let order):
      return check(order)
    case .raceEnded(let device, let asked, .inTime):
      let promise = Promise(
        device: device, asked: asked,
        knownAttempt: knownAttempt(at: asked.race.message, in: simulation))
      promises[asked.race.message, default: []].append(promise)
      let started = grants[asked.race.message]?.filter(\.hasStarted) ?? []
      return started.compactMap { broken(promise, by: $0) }
    case .raceEnded(let device, let asked, .tooLate):
      let latest = grants[asked.race.message]?.map(\.attempt).max() ?? 0
      return latest > asked.race.knownAttempt
        ? []
        : ["device \(device) learns that \(asked.race.message) began, without a grant"]
    default:
      return []
    }
  }

  /// The latest attempt at a message that the server has granted or learned of.
  private func knownAttempt(at message: MessageID, in simulation: Simulation) -> UInt16 {
    let dispatched = simulation.server.disk.storage.withState { state in
      state.workspaces[ServerDisk.workspace]?.dispatches[message]?.attempt
    }
    let heardOf = (try? simulation.server.disk.storedWorkspace())?.dispatchState(of: message)?
      .runState.run?
      .attempt
    return max(dispatched ?? 0, heardOf ?? 0)
  }

  private func check(_ order: StartOrder) -> [String] {
    guard
      let place = grants[order.message]?.lastIndex(where: {
        $0.attempt == order.attempt && $0.token == order.token
      }), let grant = grants[order.message]?[place]
    else { return [] }
    grants[order.message]?[place].hasStarted = true
    return (promises[order.message] ?? []).compactMap { broken($0, by: grant) }
  }

  /// Why a start breaks the promise that it would not happen.
  private func broken(_ promise: Promise, by grant: Grant) -> String? {
    let race = promise.asked.race
    guard grant.attempt > race.knownAttempt, grant.content != race.content,
      grant.serverRestores == promise.asked.serverRestores
        || grant.serverRestores < promise.asked.serverRestores
          && grant.attempt <= promise.knownAttempt,
      !promise.asked.made.allSatisfy({ $0.last <= grant.known[$0.replica] })
    else { return nil }
    let change = race.content == nil ? "withdrawal" : "edit"
    return "device \(promise.device) learns that its \(change) of \(race.message) was in time, "
      + "but attempt \(grant.attempt) started without it"
  }
}
