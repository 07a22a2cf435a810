import DispatchAuthority
import QueueModel
import WireProtocol

/// A question for which a user waits.
struct PersonQuestion: Sendable {
  var request: AuthorityRequest
  /// The outbox when it was asked: the answer only counts if the server has these operations.
  var behind: Outbox
  /// If operations of the outbox got new ids meanwhile, the outbox does not show what the server
  /// has.
  var repairs: Int
  /// Whether it is asked again, once the server has the operations that it refused the first time.
  var isAskedAgain = false
}

/// Questions to the authority, which is the server or this device.
struct AuthorityQuestions: Sendable {
  /// The authority if there is no server.
  var local: Authority?
  /// Questions that wait until earlier operations are sent.
  var held: [(request: AuthorityRequest, id: UInt64)] = []
  /// Questions of the driver, by number.
  var ofPersons: [UInt64: PersonQuestion] = [:]
  /// Answers that were not processed yet.
  var responses: [Response] = []
  /// Verdicts that were received or given here and not processed yet.
  var verdicts: [(request: RequestID, given: GivenVerdict)] = []
}

/// Questions of users to the authority, such as the result of the race between a withdrawal and a
/// start.
extension ConnectionMachine {
  /// Asks the authority a question for a user, after all earlier changes; the answer comes as
  /// `answered`. If the server refused a batch, and so answered without all of these changes, the
  /// answer is dropped. The question is asked again once the server has them.
  ///
  /// - Returns: nil if it cannot be asked now.
  /// - Throws: the store's fault if a stop cannot be stored; nothing is asked then.
  mutating func questionAsked(
    _ request: AuthorityRequest, id: UInt64, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action]? {
    guard !hasServer || ready != nil else { return nil }
    var withdrawal: [Action] = []
    if case .stop(let attempt) = request {
      withdrawal = try withdraw(attempt, at: context, store: store)
    }
    guard hasServer else {
      guard let answer = decide(request, id: id, at: context, store: store) else { return nil }
      return withdrawal + [.answered(answer, id)]
    }
    authority.ofPersons[id] = PersonQuestion(
      request: request, behind: replica.record.outbox, repairs: replica.record.repairs)
    authority.held.append((request, id))
    return withdrawal + sendHeld()
  }

  /// Takes the message of an attempt that a user stops out of its queue. So it is not tried again,
  /// whatever its host reports before it receives the stop: only a user can restore it.
  mutating func withdraw(
    _ attempt: AttemptName, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    do throws(Replica.Fault) {
      return try perform(
        .stopAttempt(attempt.message, attempt: attempt.number), recordsUndo: false, at: context,
        store: store
      ).actions
    } catch {
      // This device does not know the message.
      guard case .queue = error else { throw error }
      return []
    }
  }

  /// Whether a question waits until the server has the earlier changes.
  func isWithheld(_ id: UInt64) -> Bool {
    guard let question = authority.ofPersons[id], question.isAskedAgain else { return false }
    return !isTaken(question) && !isRenumbered(since: question)
  }

  /// Whether the server has everything that was known here when a question was asked.
  private func isTaken(_ question: PersonQuestion) -> Bool {
    replica.record.outbox.isBeyond(question.behind)
  }

  /// Whether operations of the outbox got other ids since a question was asked.
  private func isRenumbered(since question: PersonQuestion) -> Bool {
    question.repairs != replica.record.repairs
  }

  /// An answer to a user's question.
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
      // No agent gets the text of that attempt, so it counts as not granted.
      answer = .outcome(attempt: attempt - 1, token: 0, content: 0)
    }
    return [.answered(answer, response.id)]
  }

  /// The connection of the users' questions has ended.
  mutating func abandonQuestions() -> [Action] {
    defer { authority.ofPersons = [:] }
    return authority.ofPersons.keys.sorted().map { .answered(.unavailable, $0) }
  }

  /// Questions wait for all earlier changes. The renewal of a lease does not wait: the lease would
  /// end if much had to be sent first.
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

  /// The device decides for itself; nil if it cannot store the decision.
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
  /// Whether it renews a lease that the asker has or had.
  fileprivate var isRenewal: Bool {
    if case .lease(_, let token) = self { token != 0 } else { false }
  }
}
