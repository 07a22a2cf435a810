import ClientCore
import QueueModel
import WireProtocol

/// What agents ask has one outcome: of several answers one is taken, each agent is told once, of
/// the answer that was taken, and afterwards no device shows the request any more. Nothing is allowed that
/// somebody at the device which allowed it was not shown.
///
/// What is not claimed is only what nobody could know: a server whose store went back in time may
/// take another answer than before, and a host that lost what it had written of a request, or runs
/// twice, may leave it open in the register.
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
  /// What those who said yes were shown.
  private var shown: [RequestID: [DeviceID: Set<ContentHash?>]] = [:]
  /// What agents were told, with the number of times that the server's store had gone back before.
  private var decided: [RequestID: (decision: AskAnswer, serverRestores: Int)] = [:]
  /// With the number of times that the server's store had gone back before.
  private var taken: [RequestID: (answer: Taken, serverRestores: Int)] = [:]
  /// Answers that were taken before the server's store went back. Who was told of one then may say so
  /// until the server tells of another.
  private var outdated: [RequestID: Set<Taken>] = [:]
  private var serverRestores = 0
  /// The server's life that ended with its store being put back; what it said may still arrive.
  private var restoredLife = 0
  /// Hosts whose files went back in time, or that there are several of.
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
        return ["the agent of \(request) on device \(device) is told \(earlier), then \(decision)"]
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
      let told = Taken(verdict: verdict, device: device)
      guard let counts = standing(answer.request), counts != told,
        outdated[answer.request]?.contains(told) != true
      else { return [] }
      return [
        "device \(index) is told that \(answer.request) has \(told), and \(counts) was taken"
      ]
    default: break
    }
    return []
  }

  private func id(of index: Int, _ simulation: Simulation) -> DeviceID {
    simulation.devices[index].currentFiles.device
  }

  /// Whether what a device is told comes from the server as it is now, not from before it was put back.
  private func hearsServer(_ index: Int, _ simulation: Simulation) -> Bool {
    let pipes = simulation.devices[index].process?.pipes ?? [:]
    // A connection that is not there yet says nothing.
    return pipes.values.allSatisfy { $0.serverLife == 0 || $0.serverLife >= restoredLife }
  }

  /// The answer that was taken, where the server must still know of it.
  private func standing(_ request: RequestID) -> Taken? {
    taken[request].flatMap { $0.serverRestores == serverRestores ? $0.answer : nil }
  }

  private func take(
    _ answer: Taken, _ request: RequestID, in simulation: Simulation
  ) -> [String] {
    // Who was told before the server's store went back says so until the server tells of another.
    if standing(request) == nil, outdated[request]?.contains(answer) == true { return [] }
    // The same answer is taken as often as it comes.
    if taken[request] == nil { simulation.results.execution.requests.answersTaken += 1 }
    if let earlier = standing(request), earlier != answer {
      return ["of \(request) two answers are taken: \(earlier) and \(answer)"]
    }
    taken[request] = (answer, serverRestores)
    // A server that was put back does not know what the agent was told.
    guard let told = decided[request], told.serverRestores == serverRestores else { return [] }
    return contradiction(of: request, told.decision)
  }

  /// An agent that is told of an answer is told of the one that was taken.
  private func contradiction(of request: RequestID, _ decision: AskAnswer) -> [String] {
    guard let device = decision.device, let taken = standing(request),
      device != taken.device || decision.ending != taken.verdict.ending
    else { return [] }
    return ["the agent of \(request) is told \(decision), and \(taken) was taken"]
  }

  /// An agent may do what somebody was shown who allowed it.
  private func unseen(_ request: RequestID, _ decision: AskAnswer) -> [String] {
    guard decision.ending == .allowed, let device = decision.device, raised[request] != nil,
      let views = shown[request]?[device],
      !views.contains(SimulatedAgents.digest(of: request))
    else { return [] }
    return ["the agent of \(request) may do what nobody on device \(device) was shown"]
  }

  func settled(in simulation: Simulation) -> [String] {
    var found: [String] = []
    for request in raised.keys.sorted() where decided[request] == nil {
      guard let asking = raised[request],
        !simulation.agents.isOpen(request, asking.device, asking.life),
        simulation.devices[asking.device].life == asking.life
      else { continue }
      found.append("the agent of \(request) on device \(asking.device) is never told")
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
