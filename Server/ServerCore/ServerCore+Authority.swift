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
    _ request: Request, by connection: Connection, _ session: Session, at now: Moment
  ) {
    do {
      if let question = try InboxRequest(request) {
        return requested(question, as: request.id, by: connection, session, at: now)
      }
      guard let question = try AuthorityRequest(request) else {
        return send(.response(Response(id: request.id, status: 1, payload: [])), to: connection.id)
      }
      let waiting = workspaces[session.workspace]?.requests.count ?? 0
      guard stopping == nil, waiting < configuration.requestsMax else {
        return send(
          .response(AuthorityAnswer.unavailable.response(id: request.id)), to: connection.id)
      }
      workspaces[session.workspace]?.requests.append(
        PendingRequest(
          asker: .connection(connection.id),
          holder: LeaseHolder(device: session.device, replica: session.replica), id: request.id,
          request: question))
      markReady(session.workspace)
      stageCommit(at: now)
    } catch {
      fault(connection.id, .malformed, "request: \(error.message) at byte \(error.offset)")
    }
  }

  /// Answers what waits, by the content as the commit leaves it. The answers leave with the commit.
  mutating func stageRequests(
    _ id: WorkspaceID, into commit: inout CommitInFlight, at now: Moment
  ) {
    guard workspaces[id]?.requests.isEmpty == false else { return }
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
      workspaces[id]?.bookWasLost()
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
  /// Decides about all waiting requests, in order.
  mutating func answerRequests(
    at now: Moment
  ) -> [(PendingRequest, (answer: AuthorityAnswer, changes: AuthorityRecords))] {
    guard let content else { return [] }
    return takeRequests().map { pending in
      (
        pending,
        authority.answer(
          pending.request, id: pending.id, from: pending.holder, in: content,
          uptime: now.uptimeMilliseconds, wall: now.wallMilliseconds)
      )
    }
  }

  /// Takes all waiting requests.
  mutating func takeRequests() -> [PendingRequest] {
    defer { requests = [] }
    return requests
  }
}
