import DispatchAuthority
import QueueModel
import WireProtocol

/// A question about leases or dispatch that waits for its turn: behind every batch that came
/// before it, so that the answer takes in what they say.
struct PendingRequest: Hashable, Sendable {
  /// Who is told.
  enum Asker: Hashable, Sendable {
    case connection(ConnectionID)
    /// An answer that came without a connection.
    case post(PostedAnswerID)
  }

  var asker: Asker
  var holder: LeaseHolder
  var id: UInt64
  var request: AuthorityRequest
}

extension ServerCore {
  /// A request arrived.
  mutating func requested(
    _ request: Request, by connection: Connection, _ session: Session, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) {
    do {
      if let question = try InboxRequest(request) {
        return requested(
          question, as: request.id, by: connection, session, at: now, using: &generator)
      }
      guard let question = try AuthorityRequest(request) else {
        return send(.response(Response(id: request.id, status: 1, payload: [])), to: connection.id)
      }
      if let refusal = session.role.refusal(of: question) {
        return send(.response(refusal.response(id: request.id)), to: connection.id)
      }
      let waiting = workspaces[session.workspace]?.requests.count ?? 0
      guard stopping == nil, waiting < configuration.requestsMax else {
        return send(
          .response(AuthorityAnswer.unavailable.response(id: request.id)), to: connection.id)
      }
      workspaces[session.workspace]?.requests.append(
        PendingRequest(
          asker: .connection(connection.id),
          holder: LeaseHolder(device: session.device, store: session.store), id: request.id,
          request: question))
      markReady(session.workspace)
      stageCommit(at: now)
    } catch {
      fault(connection.id, .malformed, "request: \(error.message) at byte \(error.offset)")
    }
  }

  /// Answers what waits, by the content as the commit leaves it. The answers leave with the commit.
  mutating func stageRequests(
    _ id: WorkspaceID, into commit: inout CommitInFlight, at now: ServerTime
  ) {
    guard workspaces[id]?.hasRequests == true else { return }
    guard workspaces[id]?.content != nil else { return load(id) }
    for (pending, outcome) in workspaces[id]?.answerRequests(at: now) ?? [] {
      switch pending.asker {
      case .connection(let connection):
        commit.answers.append((connection, outcome.answer.response(id: pending.id)))
      case .post(let post):
        commit.posts.append(
          CommitInFlight.Post(
            id: post, workspace: id, answer: outcome.answer, isNew: !outcome.changes.isEmpty))
      }
      if !outcome.changes.isEmpty { commit.records.append((id, outcome.changes)) }
      for record in outcome.changes.verdicts {
        commit.verdicts.append((id, pending.asker, record))
        requestAnswered(record.request, in: id)
      }
    }
  }

  /// Tells the answers whose grounds are durable now.
  mutating func deliver(_ answers: [(connection: ConnectionID, response: Response)]) {
    for answer in answers where connections[answer.connection]?.session != nil {
      send(.response(answer.response), to: answer.connection)
    }
  }

  /// Tells every other connection of a workspace what became of a request.
  mutating func publish(
    _ verdicts: [(workspace: WorkspaceID, by: PendingRequest.Asker, record: VerdictRecord)]
  ) {
    for (workspace, author, record) in verdicts {
      var connection: ConnectionID?
      if case .connection(let id) = author { connection = id }
      act(
        .report(
          .decided(
            connection, workspace: workspace, device: record.given.device, record.given.verdict)))
      let notice = AnsweredNotice(
        session: record.session, request: record.request, given: record.given)
      let members = (workspaces[workspace]?.members ?? []).sorted()
      broadcast(
        FrameCodec.encode(.answered(notice)), to: members.filter { .connection($0) != author })
    }
  }

  /// Tells that the grounds of the answers could not be stored.
  mutating func deliverFailure(
    of answers: [(connection: ConnectionID, response: Response)]
  ) {
    deliver(
      answers.map { ($0.connection, AuthorityAnswer.unavailable.response(id: $0.response.id)) })
  }

  /// The store does not work: nothing can be promised.
  mutating func refuseRequests(of id: WorkspaceID) {
    let answers = workspaces[id]?.takeInboxAnswers() ?? []
    if workspaces[id]?.hasInboxWork == true || !answers.isEmpty {
      workspaces[id]?.inboxesWereLost()
    }
    deliverFailure(of: answers)
    for pending in workspaces[id]?.takeRequests() ?? [] {
      switch pending.asker {
      case .connection(let connection):
        deliver([(connection, AuthorityAnswer.unavailable.response(id: pending.id))])
      case .post(let post): act(.answerSettled(post, .unavailable))
      }
    }
  }
}

extension ResidentWorkspace {
  typealias Outcome = (answer: AuthorityAnswer, changes: AuthorityRecords)

  /// Requests wait for an answer, or may have one now that the queues have changed.
  var hasRequests: Bool { !requests.isEmpty || standingIsDue && !standing.isEmpty }

  /// Decides about all waiting requests, in order, and then about those that stand.
  mutating func answerRequests(at now: ServerTime) -> [(PendingRequest, Outcome)] {
    guard content != nil else { return [] }
    var outcomes: [(PendingRequest, Outcome)] = []
    for pending in takeRequests() {
      endStanding(before: pending)
      guard let outcome = decide(pending, at: now) else {
        if case .next(let session, _) = pending.request { standing[session] = pending }
        continue
      }
      outcomes.append((pending, outcome))
    }
    guard standingIsDue else { return outcomes }
    standingIsDue = false
    for (session, pending) in standing.sorted(by: { $0.key < $1.key }) {
      guard let outcome = decide(pending, at: now) else { continue }
      standing[session] = nil
      outcomes.append((pending, outcome))
    }
    return outcomes
  }

  private mutating func decide(_ pending: PendingRequest, at now: ServerTime) -> Outcome? {
    guard let content else { return nil }
    let (answer, changes) = authority.answer(
      pending.request, id: pending.id, from: pending.holder, in: content,
      uptime: now.uptimeMilliseconds, wall: now.wallMilliseconds)
    return answer.map { ($0, changes) }
  }

  /// What a host asks of a session ends what it has standing there.
  private mutating func endStanding(before pending: PendingRequest) {
    switch pending.request {
    case .dispatch(let dispatch): endStanding(in: dispatch.session, of: pending.asker)
    case .release(let session, _), .withdraw(let session):
      endStanding(in: session, of: pending.asker)
    case .lease, .next, .outcome, .answer, .verdict, .whereabouts: break
    }
  }

  private mutating func endStanding(in session: SessionID, of asker: PendingRequest.Asker) {
    if standing[session]?.asker == asker { standing[session] = nil }
  }

  /// A connection is gone, and with it what stood for it.
  mutating func endStanding(of connection: ConnectionID) {
    standing = standing.filter { $0.value.asker != .connection(connection) }
    requests.removeAll { pending in
      if case .next = pending.request { pending.asker == .connection(connection) } else { false }
    }
  }

  /// Takes all waiting requests.
  mutating func takeRequests() -> [PendingRequest] {
    defer { requests = [] }
    return requests
  }
}

extension DeviceRole {
  /// What a request is answered without asking the authority, where the role does not include it.
  fileprivate func refusal(of request: AuthorityRequest) -> AuthorityAnswer? {
    switch request {
    case .lease, .dispatch, .next: self == .host ? nil : .otherHost(nil)
    case .answer: self == .viewer ? .notAwaited : nil
    case .release, .withdraw, .outcome, .verdict, .whereabouts: nil
    }
  }
}
