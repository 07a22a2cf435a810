import ClientCore
import QueueModel
import WireProtocol

/// Callers that wait for a decision or for the result of an answer.
struct Waiters: Sendable {
  typealias Agent = CheckedContinuation<Result<AskAnswer, ClientError>, Never>
  typealias Person = CheckedContinuation<Result<AnswerEvent, ClientError>, Never>

  /// The agents that asked, by request; each gets one decision.
  private var agents: [RequestID: Agent] = [:]
  /// The users who answered, by request, with their answers.
  private var people: [RequestID: [(answer: AnswerRequest, person: Person)]] = [:]

  /// Adds an agent that waits.
  ///
  /// - Returns: false, after reporting it to the agent, if another one waits under this id.
  mutating func add(_ agent: Agent, for request: RequestID) -> Bool {
    guard agents[request] == nil else {
      agent.resume(returning: .failure(.queue(.messageIDTaken(id: request.description))))
      return false
    }
    agents[request] = agent
    return true
  }

  /// Whether an agent waits for this request.
  func isAwaited(_ request: RequestID) -> Bool {
    agents[request] != nil
  }

  /// Delivers the decision, once.
  mutating func tell(_ request: RequestID, _ decision: Result<AskAnswer, ClientError>) {
    agents.removeValue(forKey: request)?.resume(returning: decision)
  }

  /// Adds a user who waits for the result of an answer.
  mutating func add(_ person: Person, for answer: AnswerRequest) {
    people[answer.request, default: []].append((answer, person))
  }

  /// Reports the result to the users who gave the answer.
  ///
  /// - Returns: whether a caller waited.
  @discardableResult
  mutating func tell(_ answer: AnswerRequest, _ event: Result<AnswerEvent, ClientError>) -> Bool {
    let waiting = people[answer.request] ?? []
    let rest = waiting.filter { $0.answer != answer }
    people[answer.request] = rest.isEmpty ? nil : rest
    for entry in waiting where entry.answer == answer { entry.person.resume(returning: event) }
    return rest.count < waiting.count
  }

  /// Ends all waiting, because the client closes.
  mutating func finish() {
    for agent in agents.values { agent.resume(returning: .failure(.closed)) }
    for entry in people.values.flatMap({ $0 }) {
      entry.person.resume(returning: .failure(.closed))
    }
    self = Waiters()
  }
}
