import DispatchAuthority
package import QueueModel
package import WireProtocol

/// Names an answer that came without a connection, from the button of a push.
package struct PostedAnswerID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The result of an answer that came without a connection.
package enum PostedAnswerOutcome: Hashable, Sendable {
  /// The answer counts; `isRepeated` if it counted before.
  case taken(isRepeated: Bool)
  /// Another answer came first, from the named device.
  case answeredAlready(Verdict, by: String?)
  /// The agent no longer awaits an answer.
  case notAwaited
  /// Nothing can be stored now, or too much waits; it may be posted again.
  case unavailable
}

/// Answers by button. They wait in the workspace's queue with those that come over connections, and
/// the same authority decides; SPECIFICATION.md, section "Answers by button".
extension ServerCore {
  /// An answer whose workspace must be loaded first.
  struct PostedAnswer: Hashable, Sendable {
    var id: PostedAnswerID
    var answer: AnswerRequest
    var device: DeviceID
  }

  /// A device answers without a connection; the driver has checked that it may.
  ///
  /// `ServerAction.answerSettled` reports the result once.
  ///
  /// - Parameter id: not used before.
  package mutating func answerPosted(
    _ id: PostedAnswerID, _ answer: AnswerRequest, by device: DeviceID,
    in workspace: WorkspaceID, at now: ServerTime
  ) -> [ServerAction] {
    let posted = PostedAnswer(id: id, answer: answer, device: device)
    let waiting =
      (workspaces[workspace]?.requests.waitingCount ?? 0) + (waitingPosts[workspace]?.count ?? 0)
    if stopping != nil || waiting >= configuration.quota.requestsMax {
      actions.add(.answerSettled(id, .unavailable))
    } else if workspaces[workspace] == nil {
      waitingPosts[workspace, default: []].append(posted)
      workspaces.load(workspace, &actions)
    } else {
      enqueue(posted, in: workspace)
      stageCommit(at: now)
    }
    return actions.take()
  }

  private mutating func enqueue(_ posted: PostedAnswer, in workspace: WorkspaceID) {
    guard let role = workspaces[workspace]?.devices[posted.device]?.role, role != .viewer else {
      return actions.add(.answerSettled(posted.id, .notAwaited))
    }
    workspaces[workspace]?.requests.add(
      PendingRequest(
        asker: .post(posted.id),
        // An answer gives no store permission to run anything.
        holder: LeaseHolder(device: posted.device, store: StoreID(rawValue: 0)),
        id: posted.id.rawValue, request: .answer(posted.answer)))
    workspaces.markReady(workspace)
  }

  /// The workspace of the answers was loaded.
  mutating func takePosts(of workspace: WorkspaceID) {
    for posted in waitingPosts.removeValue(forKey: workspace) ?? [] {
      enqueue(posted, in: workspace)
    }
  }

  /// The workspace of the answers cannot be loaded.
  mutating func refusePosts(of workspace: WorkspaceID, _ outcome: PostedAnswerOutcome) {
    for posted in waitingPosts.removeValue(forKey: workspace) ?? [] {
      actions.add(.answerSettled(posted.id, outcome))
    }
  }

  /// Reports the authority's decisions, once they are durable.
  mutating func settle(_ posts: [CommitInFlight.Post]) {
    for post in posts {
      let outcome = post.outcome { workspaces[post.workspace]?.devices[$0]?.name }
      actions.add(.answerSettled(post.id, outcome))
    }
  }
}

extension CommitInFlight.Post {
  fileprivate func outcome(name: (DeviceID) -> String?) -> PostedAnswerOutcome {
    switch answer {
    case .taken: .taken(isRepeated: !isNew)
    case .answeredAlready(let verdict, let device): .answeredAlready(verdict, by: name(device))
    case .notAwaited: .notAwaited
    default: .unavailable
    }
  }
}
