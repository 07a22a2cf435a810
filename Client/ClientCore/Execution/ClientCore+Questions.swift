import QueueModel
package import WireProtocol

/// A question that a person waits for.
struct PersonQuestion: Sendable {
  var request: AuthorityRequest
  /// What was in the outbox when it was asked: the answer counts only where the server has it.
  var behind: Outbox
  /// Where operations of the outbox got other ids meanwhile, that does not say what the server has.
  var repairs: Int
  /// It is asked again, once the server has what it did not take the first time.
  var isAskedAgain = false
}

/// What people ask the authority, such as how the race between a withdrawal and a start ended.
extension ClientCore {
  /// Asks the authority something for a person, behind everything that was done before; the answer
  /// comes as `told`. One that was given without all of that, because the server refused a batch,
  /// is not told: the question goes again once the server has it.
  ///
  /// - Returns: nil where it cannot be asked now.
  package mutating func questionAsked(
    _ request: AuthorityRequest, id: UInt64, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action]? {
    guard hasServer else {
      guard let answer = decide(request, id: id, at: occasion, store: store) else { return nil }
      return [.told(answer, id)]
    }
    guard canAskServer else { return nil }
    execution.questions[id] = PersonQuestion(
      request: request, behind: replica.record.outbox, repairs: replica.record.repairs)
    execution.held.append((request, id))
    return sendHeld()
  }

  /// Whether a question waits until the server has taken what was done before it.
  func isWithheld(_ id: UInt64) -> Bool {
    guard let question = execution.questions[id], question.isAskedAgain else { return false }
    return !isTaken(question) && !isRenumbered(since: question)
  }

  /// Whether the server has everything that was known here when something was asked.
  private func isTaken(_ question: PersonQuestion) -> Bool {
    replica.record.outbox.isBeyond(question.behind)
  }

  /// Whether operations of the outbox got other ids since something was asked.
  private func isRenumbered(since question: PersonQuestion) -> Bool {
    question.repairs != replica.record.repairs
  }

  /// An answer to what a person asked.
  mutating func take(_ response: Response, to question: PersonQuestion) -> [Action] {
    let isRenumbered = isRenumbered(since: question)
    guard isRenumbered || isTaken(question) else {
      execution.questions[response.id]?.isAskedAgain = true
      execution.held.append((question.request, response.id))
      return sendHeld()
    }
    execution.questions[response.id] = nil
    var answer =
      isRenumbered
      ? .unavailable : (try? AuthorityAnswer(response, to: question.request)) ?? .unavailable
    if case .outcome(let attempt, let token, _) = answer, attempt > 0,
      case .outcome(let message) = question.request,
      execution.executor?.givesBack(message, attempt: attempt, token: token) == true
    {
      // No agent gets the text of that attempt: it is as good as not let out.
      answer = .outcome(attempt: attempt - 1, token: 0, content: 0)
    }
    return [.told(answer, response.id)]
  }

  /// The connection that the questions went over is gone.
  mutating func abandonQuestions() -> [Action] {
    defer { execution.questions = [:] }
    return execution.questions.keys.sorted().map { .told(.unavailable, $0) }
  }
}
