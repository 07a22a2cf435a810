import ClientCore
import QueueModel
import WireProtocol

/// A request of an agent has one outcome. One of several answers is accepted, the agent gets that
/// answer once, and afterwards no device shows the request. Nothing is approved that was not shown
/// on the approving device.
///
/// Cases that cannot be known are left out: a server whose store went back in time may accept a
/// different answer than before, and a host that lost its record of a request, or runs twice, may
/// leave it open in the register.
final class RequestChecker: SimulationChecker {
  let name = "requests"

  private struct Taken: Hashable {
    var verdict: Verdict
    var device: DeviceID
  }

  /// An agent that asked.
  private struct Asking {
    var device: Int
    var life: Int
    var host: DeviceID
  }

  private var raised: [RequestID: Asking] = [:]
  /// The contents that were shown to the users who approved.
  private var shown: [RequestID: [DeviceID: Set<ContentHash?>]] = [:]
  /// The decisions that agents received, with the number of times that the server's store had gone
  /// back before.
  private var decided: [RequestID: (decision: AskAnswer, serverRestores: Int)] = [:]
  /// The answers that were accepted, with the number of times that the server's store had gone back
  /// before.
  private var taken: [RequestID: (answer: Taken, serverRestores: Int)] = [:]
  /// Answers that were accepted before the server's store went back. A device that received one may
  /// report it until the server sends another.
  private var outdated: [RequestID: Set<Taken>] = [:]
  private var serverRestores = 0
  /// The server process whose store was restored afterwards; its frames may still arrive.
  private var restoredLife = 0
  /// Hosts whose files went back in time, or of which there are several.
  private var doubtfulHosts: Set<DeviceID> = []

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .rolledBack(.server):
      serverRestores += 1
      restoredLife = simulation.server.life
      for (request, entry) in taken { outdated[request, default: []].insert(entry.answer) }
    case .rolledBack(.device(let index)): doubtfulHosts.insert(id(of: index, simulation))
    case .added(let index):
      let copied = id(of: index, simulation)
      if simulation.devices.count(where: { $0.currentFiles.device == copied }) > 1 {
        doubtfulHosts.insert(copied)
      }
    case .raised(let device, let life, let request):
      simulation.results.execution.requests.raised += 1
      raised[request] = Asking(device: device, life: life, host: id(of: device, simulation))
    case .allowed(let index, let request, let digest):
      shown[request, default: [:]][id(of: index, simulation), default: []].insert(digest)
    case .decided(let device, let request, let decision):
      simulation.results.execution.requests.decided += 1
      if decision.ending == .expired { simulation.results.execution.requests.expired += 1 }
      let isOfBefore = !hearsServer(device, simulation)
      defer { decided[request] = (decision, isOfBefore ? serverRestores - 1 : serverRestores) }
      if isOfBefore, let device = decision.device {
        let verdicts = Verdict.allCases.filter { $0.ending == decision.ending }
        outdated[request, default: []].formUnion(
          verdicts.map { Taken(verdict: $0, device: device) })
      }
      if let earlier = decided[request]?.decision {
        return ["the agent of \(request) on device \(device) gets \(earlier), then \(decision)"]
      }
      return contradiction(of: request, decision) + unseen(request, decision)
    case .answerEnded(let index, let answer, let ending) where !hearsServer(index, simulation):
      if ending == .taken {
        outdated[answer.request, default: []].insert(
          Taken(verdict: answer.verdict, device: id(of: index, simulation)))
      }
    case .answerEnded(let index, let answer, .taken):
      return take(
        Taken(verdict: answer.verdict, device: id(of: index, simulation)), answer.request,
        in: simulation)
    case .answerEnded(let index, let answer, .answeredAlready(let verdict, let device)):
      let learned = Taken(verdict: verdict, device: device)
      guard let counts = standing(answer.request), counts != learned,
        outdated[answer.request]?.contains(learned) != true
      else { return [] }
      return [
        "device \(index) learns that \(answer.request) has \(learned), but \(counts) was taken"
      ]
    default: break
    }
    return []
  }

  private func id(of index: Int, _ simulation: Simulation) -> DeviceID {
    simulation.devices[index].currentFiles.device
  }

  /// Whether a device's information comes from the present server, not from before a restore.
  private func hearsServer(_ index: Int, _ simulation: Simulation) -> Bool {
    let pipes = simulation.devices[index].process?.pipes ?? [:]
    // A connection that is not established yet carries no information.
    return pipes.values.allSatisfy { $0.serverEnd.life == 0 || $0.serverEnd.life >= restoredLife }
  }

  /// The answer that was accepted, if the server must still know it.
  private func standing(_ request: RequestID) -> Taken? {
    taken[request].flatMap { $0.serverRestores == serverRestores ? $0.answer : nil }
  }

  private func take(
    _ answer: Taken, _ request: RequestID, in simulation: Simulation
  ) -> [String] {
    // A device that was informed before the server's store went back reports that answer until the
    // server sends another.
    if standing(request) == nil, outdated[request]?.contains(answer) == true { return [] }
    // The same answer may be accepted any number of times.
    if taken[request] == nil { simulation.results.execution.requests.answersTaken += 1 }
    if let earlier = standing(request), earlier != answer {
      return ["two answers to \(request) are taken: \(earlier) and \(answer)"]
    }
    taken[request] = (answer, serverRestores)
    // A restored server does not know what the agent received.
    guard let known = decided[request], known.serverRestores == serverRestores else { return [] }
    return contradiction(of: request, known.decision)
  }

  /// The agent's decision must be the answer that was accepted.
  private func contradiction(of request: RequestID, _ decision: AskAnswer) -> [String] {
    guard let device = decision.device, let taken = standing(request),
      device != taken.device || decision.ending != taken.verdict.ending
    else { return [] }
    return ["the agent of \(request) gets \(decision), but \(taken) was taken"]
  }

  /// An agent may only take the action that was shown to the user who approved it.
  private func unseen(_ request: RequestID, _ decision: AskAnswer) -> [String] {
    guard decision.ending == .allowed, let device = decision.device, raised[request] != nil,
      let views = shown[request]?[device],
      !views.contains(SimulatedAgents.digest(of: request))
    else { return [] }
    return ["the agent of \(request) may do what device \(device) did not show"]
  }

  func settled(in simulation: Simulation) -> [String] {
    var found: [String] = []
    for request in raised.keys.sorted() where decided[request] == nil {
      guard let asking = raised[request],
        !simulation.agents.isOpen(request, asking.device, asking.life),
        simulation.devices[asking.device].life == asking.life
      else { continue }
      found.append("the agent of \(request) on device \(asking.device) never gets a decision")
    }
    for device in simulation.devices {
      guard let workspace = device.process?.core.replica.workspace else { continue }
      for session in workspace.sessions() {
        for request in session.task?.requests.map(\.id) ?? [] where decided[request] != nil {
          guard let host = raised[request]?.host, !doubtfulHosts.contains(host) else { continue }
          found.append("device \(device.index) still shows \(request), which is decided")
        }
      }
    }
    return found
  }
}
