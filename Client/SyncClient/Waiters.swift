import ClientCore
import QueueModel
import WireProtocol

/// Who waits for a decision or for the end of an answer.
struct Waiters: Sendable {
  typealias Agent = CheckedContinuation<Result<AskAnswer, ClientError>, Never>
  typealias Person = CheckedContinuation<Result<AnswerEvent, ClientError>, Never>

  /// Agents that asked, by request; each is told once.
  private var agents: [RequestID: Agent] = [:]
  /// People that answered, by request, with the answers they gave.
  private var people: [RequestID: [(answer: AnswerRequest, person: Person)]] = [:]

  /// An agent waits from now on.
  ///
  /// - Returns: false if another one waits under this id; the agent is told then.
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

  /// Hands the decision over, once.
  mutating func tell(_ request: RequestID, _ decision: Result<AskAnswer, ClientError>) {
    agents.removeValue(forKey: request)?.resume(returning: decision)
  }

  /// A person waits for the end of an answer.
  mutating func add(_ person: Person, for answer: AnswerRequest) {
    people[answer.request, default: []].append((answer, person))
  }

  /// Tells those who gave the answer what became of it.
  ///
  /// - Returns: whether anybody waited.
  @discardableResult
  mutating func tell(_ answer: AnswerRequest, _ event: Result<AnswerEvent, ClientError>) -> Bool {
    let waiting = people[answer.request] ?? []
    let rest = waiting.filter { $0.answer != answer }
    people[answer.request] = rest.isEmpty ? nil : rest
    for entry in waiting where entry.answer == answer { entry.person.resume(returning: event) }
    return rest.count < waiting.count
  }

  /// Ends all waiting: the client closes.
  mutating func finish() {
    for agent in agents.values { agent.resume(returning: .failure(.closed)) }
    for entry in people.values.flatMap({ $0 }) {
      entry.person.resume(returning: .failure(.closed))
    }
    self = Waiters()
  }
}
