import DispatchAuthority
import QueueModel
import WireProtocol

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

/// What is asked of the authority, be it the server or this device itself.
struct AuthorityQuestions: Sendable {
  /// Decides if there is no server.
  var local: Authority?
  /// Questions that come behind operations which are not sent yet.
  var held: [(request: AuthorityRequest, id: UInt64)] = []
  /// Questions of the driver's own, by number.
  var ofPersons: [UInt64: PersonQuestion] = [:]
  /// Answers that were not looked at yet.
  var responses: [Response] = []
  /// Verdicts that were told or taken here and not looked at yet.
  var verdicts: [(request: RequestID, given: GivenVerdict)] = []
}

/// What people ask the authority, such as how the race between a withdrawal and a start ended.
extension ConnectionMachine {
  /// Asks the authority something for a person, behind everything that was done before; the answer
  /// comes as `told`. One that was given without all of that, because the server refused a batch,
  /// is not told: the question goes again once the server has it.
  ///
  /// - Returns: nil if it cannot be asked now.
  mutating func questionAsked(
    _ request: AuthorityRequest, id: UInt64, at context: EventContext, store: some ReplicaStore
  ) -> [Action]? {
    guard hasServer else {
      guard let answer = decide(request, id: id, at: context, store: store) else { return nil }
      return [.told(answer, id)]
    }
    guard ready != nil else { return nil }
    authority.ofPersons[id] = PersonQuestion(
      request: request, behind: replica.record.outbox, repairs: replica.record.repairs)
    authority.held.append((request, id))
    return sendHeld()
  }

  /// Whether a question waits until the server has taken what was done before it.
  func isWithheld(_ id: UInt64) -> Bool {
    guard let question = authority.ofPersons[id], question.isAskedAgain else { return false }
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
  ///
  /// - Parameter executor: runs messages on this device.
  mutating func take(
    _ response: Response, to question: PersonQuestion, executor: Executor?
  ) -> [Action] {
    let isRenumbered = isRenumbered(since: question)
    guard isRenumbered || isTaken(question) else {
      authority.ofPersons[response.id]?.isAskedAgain = true
      authority.held.append((question.request, response.id))
      return sendHeld()
    }
    authority.ofPersons[response.id] = nil
    var answer =
      isRenumbered
      ? .unavailable : (try? AuthorityAnswer(response, to: question.request)) ?? .unavailable
    if case .outcome(let attempt, let token, _) = answer, attempt > 0,
      case .outcome(let message) = question.request,
      executor?.givesBack(message, attempt: attempt, token: token) == true
    {
      // No agent gets the text of that attempt: it is as good as not let out.
      answer = .outcome(attempt: attempt - 1, token: 0, content: 0)
    }
    return [.told(answer, response.id)]
  }

  /// The connection that the questions of persons went over is gone.
  mutating func abandonQuestions() -> [Action] {
    defer { authority.ofPersons = [:] }
    return authority.ofPersons.keys.sorted().map { .told(.unavailable, $0) }
  }

  /// Questions go behind everything that was done before them; but a lease goes on whatever was
  /// done, and ends if much is to be sent first.
  mutating func sendHeld() -> [Action] {
    guard !authority.held.isEmpty, case .live(let live) = state else { return [] }
    let isClear = live.hasSent(through: replica.lastEntry) || replica.record.outbox.isEmpty
    let held = authority.held
    let goes = held.map { question in
      isClear
        ? !isWithheld(question.id) : live.hasCaughtUp && question.request.isRenewal
    }
    authority.held = zip(held, goes).filter { !$0.1 }.map(\.0)
    return zip(held, goes).filter(\.1).map { question, _ in
      .send(live.id, .request(question.request.request(id: question.id)))
    }
  }

  /// The device decides for itself; nil if it cannot store what it decided.
  mutating func decide(
    _ request: AuthorityRequest, id: UInt64, at context: EventContext, store: some ReplicaStore
  ) -> AuthorityAnswer? {
    guard var local = authority.local else { return nil }
    let own = LeaseHolder(device: replica.record.device, store: replica.record.store)
    let outcome = local.answer(
      request, id: id, from: own, in: replica.workspace, uptime: context.now,
      wall: time(at: context), awaySince: { $0 == own ? nil : 0 })
    if !outcome.changes.isEmpty {
      var transaction = StoreTransaction(record: replica.record)
      transaction.authority = outcome.changes
      do {
        try store.commit(transaction)
      } catch {
        return nil
      }
    }
    authority.local = local
    authority.verdicts += outcome.changes.verdicts.map { ($0.request, $0.given) }
    return outcome.answer
  }
}

extension AuthorityRequest {
  /// Whether it asks for a lease to go on that the asker has or had.
  fileprivate var isRenewal: Bool {
    if case .lease(_, let token) = self { token != 0 } else { false }
  }
}
