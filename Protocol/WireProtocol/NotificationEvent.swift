package import QueueModel
package import SequenceCRDT

/// An event, in the agent's own words if it gave some. The place that shows it decides how to
/// present it.
package enum NotificationEvent: Hashable, Sendable {
  /// An approval must name `digest`; `isCut` if the request is not complete here.
  case approval(
    tool: String, summary: String, details: String?, digest: ContentHash? = nil,
    isCut: Bool = false)
  case question(String, options: [String])
  case taskComplete(summary: String?)
  case taskFailed(error: String?)
  case threadReady(name: String)
  /// `text` is the result of the merge.
  case messageMerged(text: String)

  package var category: NotificationCategory {
    switch self {
    case .approval: .approvalRequest
    case .question: .questionAsked
    case .taskComplete: .taskComplete
    case .taskFailed: .taskError
    case .threadReady: .threadReady
    case .messageMerged: .messageMerged
    }
  }

  /// The digest that an approval must name.
  package var digest: ContentHash? {
    if case .approval(_, _, _, let digest, _) = self { digest } else { nil }
  }

  /// Whether the request is not complete here.
  package var isCut: Bool {
    if case .approval(_, _, _, _, let isCut) = self { isCut } else { false }
  }

  /// The title of a notification, the same on devices and in pushes, for every agent.
  package var title: String {
    switch self {
    case .approval: "Approval Needed"
    case .question: "An agent has a question"
    case .taskComplete: "Task Complete"
    case .taskFailed: "Task Failed"
    case .threadReady: "Thread Ready"
    case .messageMerged: "Message Merged"
    }
  }

  package var body: String {
    switch self {
    case .approval(let tool, let summary, _, _, _): summary.isEmpty ? tool : "\(tool): \(summary)"
    case .question(let question, _): question
    case .taskComplete(let text), .taskFailed(let text): text ?? ""
    case .threadReady(let name): name
    case .messageMerged(let text): text
    }
  }
}

/// The events of a write of a task: SPECIFICATION.md, section "Notifications".
extension NotificationEvent {
  package init(_ request: TaskRequest) {
    self =
      switch request {
      case .approval(let approval):
        .approval(
          tool: approval.toolName, summary: approval.summary, details: approval.details,
          digest: approval.digest, isCut: approval.isCut)
      case .question(let question): .question(question.question, options: question.options)
      }
  }

  /// The events of a status, each with its request.
  ///
  /// - Parameter requests: those that were not awaited before.
  package static func events(
    of status: TaskStatus, asking requests: [TaskRequest]
  ) -> [(TaskRequest?, NotificationEvent)] {
    switch status {
    case .awaitingApproval, .awaitingAnswer: requests.map { ($0, NotificationEvent($0)) }
    case .completed(.success(let summary)): [(nil, .taskComplete(summary: summary))]
    case .completed(.failure(let error)): [(nil, .taskFailed(error: error))]
    case .error(let message): [(nil, .taskFailed(error: message))]
    case .idle, .processing, .completed(.cancelled): []
    }
  }
}

extension OperationID {
  /// The name of an event of an operation.
  ///
  /// - Parameter index: its place among the operation's events; events after the first have a name
  ///   that no operation has.
  package func naming(_ request: RequestID?, at index: Int) -> OperationID {
    guard index > 0, let request else { return self }
    return OperationID(
      replica: ReplicaID(rawValue: replica.rawValue ^ request.high ^ request.low), seq: seq)
  }
}

extension InboxNotification {
  package init(
    position: UInt64, name: OperationID, event: NotificationEvent, isMissed: Bool,
    session: SessionID, request: RequestID?, message: MessageID? = nil, milliseconds: Int64
  ) {
    self.init(
      position: position, name: name, category: event.category, isMissed: isMissed,
      session: session, request: request, message: message, milliseconds: milliseconds,
      title: event.title.cut(toUTF8Bytes: WireLimits.notificationTitleBytesMax),
      body: event.body.cut(toUTF8Bytes: WireLimits.notificationBodyBytesMax))
  }
}
