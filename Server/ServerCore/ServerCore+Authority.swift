import DispatchAuthority
import QueueModel
import WireProtocol

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
      let waiting = workspaces[session.workspace]?.requests.waitingCount ?? 0
      guard stopping == nil, waiting < configuration.quota.requestsMax else {
        return send(
          .response(AuthorityAnswer.unavailable.response(id: request.id)), to: connection.id)
      }
      workspaces[session.workspace]?.requests.add(
        PendingRequest(
          asker: .connection(connection.id),
          holder: LeaseHolder(device: session.device, store: session.store), id: request.id,
          request: question))
      workspaces.markReady(session.workspace)
      stageCommit(at: now)
    } catch {
      fault(connection.id, .malformed, "request: \(error.message) at byte \(error.offset)")
    }
  }

  /// Sends the answers whose grounds are now durable.
  mutating func deliver(_ answers: [(connection: ConnectionID, response: Response)]) {
    withConnections {
      for (connection, response) in answers {
        $0.send(.response(response), to: connection, &$1)
      }
    }
  }

  /// Sends the decision about a request to every other connection of a workspace.
  mutating func publish(
    _ verdicts: [(workspace: WorkspaceID, by: PendingRequest.Asker, record: VerdictRecord)]
  ) {
    for (workspace, author, record) in verdicts {
      var connection: ConnectionID?
      if case .connection(let id) = author { connection = id }
      actions.add(
        .report(
          .decided(
            connection, workspace: workspace, device: record.given.device, record.given.verdict)))
      let notice = AnsweredNotice(
        session: record.session, request: record.request, given: record.given)
      let others = connections.members(of: workspace).filter { .connection($0) != author }
      withConnections { $0.broadcast(.answered(notice), to: others, &$1) }
    }
  }

  /// Reports that the grounds of the answers could not be stored.
  mutating func deliverFailure(
    of answers: [(connection: ConnectionID, response: Response)]
  ) {
    deliver(
      answers.map { ($0.connection, AuthorityAnswer.unavailable.response(id: $0.response.id)) })
  }

  /// The store does not work, so nothing can be promised.
  mutating func refuseRequests(of id: WorkspaceID) {
    let answers = workspaces[id]?.inboxes.takeAnswers() ?? []
    if workspaces[id]?.hasInboxWork == true || !answers.isEmpty {
      workspaces[id]?.inboxesWereLost()
    }
    deliverFailure(of: answers)
    for pending in workspaces[id]?.requests.takeWaiting() ?? [] {
      switch pending.asker {
      case .connection(let connection):
        deliver([(connection, AuthorityAnswer.unavailable.response(id: pending.id))])
      case .post(let post): actions.add(.answerSettled(post, .unavailable))
      }
    }
  }
}

extension DeviceRole {
  /// The answer to a request that the role does not allow; nil if the authority must decide.
  fileprivate func refusal(of request: AuthorityRequest) -> AuthorityAnswer? {
    switch request {
    case .lease, .dispatch, .next: self == .host ? nil : .otherHost(nil)
    case .answer: self == .viewer ? .notAwaited : nil
    case .stop, .takeOver: self == .viewer ? .notAtWork : nil
    case .release, .withdraw, .outcome, .verdict, .whereabouts: nil
    }
  }
}
