import ClientCore
import ClientStore
import Foundation
public import QueueModel
import WireProtocol

/// A request with the session whose agent raised it.
public struct AwaitedRequest: Hashable, Sendable {
  /// The session whose task awaits it.
  public var session: SessionID
  /// The request.
  public var request: TaskRequest

  /// Creates an awaited request.
  public init(session: SessionID, request: TaskRequest) {
    self.session = session
    self.request = request
  }
}

/// A user's answer to a request that a task awaits.
public struct TaskAnswer: Hashable, Sendable {
  /// The session whose task awaits it.
  public var session: SessionID
  /// The request.
  public var request: RequestID
  /// `allowed` or `denied` for an approval, `answered` or `cancelled` for a question.
  public var verdict: Verdict
  /// The answer, or a remark; at most `Limits.answerBytesMax` bytes.
  public var text: String
  /// The `digest` of the request that the user saw. An approval applies only to that request.
  public var digest: ContentHash?

  /// Creates an answer.
  public init(
    session: SessionID, request: RequestID, verdict: Verdict, text: String = "",
    digest: ContentHash? = nil
  ) {
    self.session = session
    self.request = request
    self.verdict = verdict
    self.text = text
    self.digest = digest
  }

  /// An answer to a request that the user saw.
  public init(to awaited: AwaitedRequest, verdict: Verdict, text: String = "") {
    self.init(
      session: awaited.session, request: awaited.request.id, verdict: verdict, text: text,
      digest: awaited.request.digest)
  }
}

extension TaskAnswer {
  init(_ request: AnswerRequest) {
    self.init(
      session: request.session, request: request.request, verdict: request.verdict,
      text: request.text, digest: request.digest)
  }
}

/// The result of an answer.
public enum AnswerEvent: Hashable, Sendable {
  /// This answer counts.
  case taken
  /// Another device, or this one with another answer, was first.
  case answeredAlready(Verdict, by: DeviceID)
  /// The request is no longer awaited: it expired, was withdrawn, or has ended.
  case notAwaited
  /// There was no connection for two minutes, so the answer was dropped (N-4).
  case tooLate
  /// There is no connection. The answer is kept, and sent if there is one within two minutes.
  case waiting

  init(_ ending: AnswerEnding) {
    self =
      switch ending {
      case .taken: .taken
      case .answeredAlready(let verdict, let device): .answeredAlready(verdict, by: device)
      case .notAwaited: .notAwaited
      case .tooLate: .tooLate
      }
  }
}

/// Tasks: the agents' work, their requests, and the answers.
///
/// ```swift
/// for awaited in await client.tasks.awaitedRequests() { show(awaited.request) }
/// switch try await client.tasks.answer(TaskAnswer(to: awaited, verdict: .allowed)) {
/// case .taken: break
/// case let other: show(other)
/// }
/// ```
public struct ClientTasks: Sendable {
  let client: QueueClient

  /// The tasks of all sessions that ever had one, by session.
  public func all() -> [TaskState] { client.workspace().sessions().compactMap(\.task) }

  /// The requests that can still be answered, by session and in the order of asking. Answered ones,
  /// and those of agents that a user stopped, are left out, even if their host has not reported
  /// that yet.
  public func awaitedRequests() async -> [AwaitedRequest] {
    let workspace = client.workspace()
    let tasks = workspace.sessions().compactMap(\.task)
    let open = tasks.filter { !Withdrawal.stopsAgent(of: $0.sessionId, in: workspace) }
    let asked = open.flatMap { task in
      task.requests.filter { !isAskedAtHost($0) }
        .map { AwaitedRequest(session: task.sessionId, request: $0) }
    }
    guard !asked.isEmpty else { return [] }
    return await client.engine.read { core in asked.filter { !core.isSettled($0.request.id) } }
  }

  /// Whether only the agent's own device accepts an answer: the time for other devices has passed,
  /// and the agent asks at its own prompt.
  public func isAskedAtHost(_ request: TaskRequest) -> Bool {
    let now = client.time
    return request.expiresAt.map { $0 <= now } ?? false
  }

  /// Creates a request that any device can answer; the first answer counts. Cancelling the caller
  /// withdraws the request. If a user cancels it, the agent's turn is stopped, as by
  /// `ClientExecution.stopAgent(of:)`.
  ///
  /// - Parameters:
  ///   - patience: the time to answer; nil waits forever.
  ///   - promptsItself: whether the agent asks at its own prompt if there is no answer in time; its
  ///     task then waits until the agent reports something.
  /// - Returns: the one decision for the agent.
  /// - Throws: `.queue` with `sessionNotFound` or `contentTooLong`, `.closed`.
  public func ask(
    _ ask: AgentAsk, in session: SessionID, id: RequestID = .random(),
    patience: Duration? = .seconds(60), promptsItself: Bool = false
  ) async throws(ClientError) -> AskAnswer {
    let answer = try await askOnce(
      ask, in: session, id: id, patience: patience, promptsItself: promptsItself)
    guard answer.isMistaken else { return answer }
    return try await askOnce(ask, in: session, patience: patience, promptsItself: promptsItself)
  }

  /// The same, for a caller that asks again under another id after an approval of a different text.
  package func askOnce(
    _ ask: AgentAsk, in session: SessionID, id: RequestID = .random(),
    patience: Duration? = .seconds(60), promptsItself: Bool = false
  ) async throws(ClientError) -> AskAnswer {
    let text = ask.text.map { Data($0.utf8) }
    if let text, text.count > Limits.taskInputBytesMax {
      throw .queue(.contentTooLong(bytes: text.count, max: Limits.taskInputBytesMax))
    }
    let digest = text.flatMap(AttachmentStore.hash)
    let answer = try await client.attachments.holding(text, as: digest) {
      () async throws(ClientError) in
      try await client.engine.raise(
        Ask(
          session: session, id: id, matter: ask,
          patienceMilliseconds: patience.map(DeviceClock.milliseconds),
          promptsItself: promptsItself, digest: digest))
    }
    // An agent without an executor gets the decision, and decides whether to stop.
    if answer.ending == .cancelled { _ = try await client.execution.stopAgent(of: session) }
    return answer
  }

  /// A request with all of its details: from its register, else from its agent's device or the
  /// server, checked against its digest. Only this may be shown as the subject of an approval.
  ///
  /// - Throws: `.attachmentMissing` if the complete text is not available now, `.refused` if the
  ///   text does not match its digest, `.unreachable`, `.notPaired`, `.queue(.persistenceFailed)`.
  public func whole(_ request: ApprovalRequest) async throws(ClientError) -> ApprovalRequest {
    guard let digest = request.digest else { return request }
    guard request.isCut else {
      guard AttachmentStore.hash(of: Data(request.text.utf8)) == digest else {
        throw .refused(
          code: "damagedRequest", message: "what \(request.id) shows is not what it asks for")
      }
      return request
    }
    let bytes = try await client.attachments.text(of: digest)
    guard
      let whole = String(validating: bytes, as: UTF8.self).flatMap({ request.whole($0) })
    else {
      throw .refused(code: "damagedRequest", message: "the text of \(request.id) is none")
    }
    return whole
  }

  /// Answers a request that a task awaits. The first answer of all devices counts.
  ///
  /// - Returns: the result; `waiting` if the authority cannot be asked now. `DeviceEvent.answer`
  ///   reports the later result.
  /// - Throws: `.queue` with `contentTooLong` or `persistenceFailed`, `.diskUnconfirmed`,
  ///   `.closed`.
  public func answer(_ answer: TaskAnswer) async throws(ClientError) -> AnswerEvent {
    let bytes = answer.text.utf8.count
    guard bytes <= Limits.answerBytesMax else {
      throw .queue(.contentTooLong(bytes: bytes, max: Limits.answerBytesMax))
    }
    let request = AnswerRequest(
      session: answer.session, request: answer.request, verdict: answer.verdict,
      text: answer.text, digest: answer.digest)
    return try await client.engine.give(request, within: ClientQueues.raceAnswerLimit)
  }

  /// Reports that an agent here asks its user at its own prompt. Other devices show that it waits,
  /// and cannot answer.
  public func notePrompt(_ ask: AgentAsk, in session: SessionID) async {
    await note(.prompted(ask, .random()), in: session)
  }

  /// Reports that an agent here continues its work, whatever it waited for.
  public func noteResumed(in session: SessionID) async {
    await note(.resumed, in: session)
  }

  /// Reports an agent's progress.
  public func noteProgress(_ progress: TodoProgress, in session: SessionID) async {
    await note(.progress(progress), in: session)
  }

  /// Reports an agent's current work, in a word or two; nil if it has no name.
  public func noteOperation(_ operation: String?, in session: SessionID) async {
    await note(.operation(operation), in: session)
  }

  /// Reports that an agent here began to work on a prompt.
  public func noteBegan(in session: SessionID) async {
    await note(.began, in: session)
  }

  /// Reports the same without waiting until it is stored; later reports come after it.
  public func noteBeganSoon(in session: SessionID) {
    client.engine.soon { engine in
      engine.note { core, context, store in
        core.taskHeard(.began, in: session, at: context, store: store)
      }
    }
  }

  /// Reports how an agent's work here ended.
  public func noteEnded(_ result: TaskResult, in session: SessionID) async {
    await note(.ended(result), in: session)
  }

  /// Reports that a script that asked outside a turn no longer responds. The session is idle again
  /// if it has no other request. This causes no notification, unlike the end of a task.
  package func noteAskingEnded(in session: SessionID) async {
    await client.engine.note { core, context, store in
      // Also for a deleted session, which may be restored.
      guard core.replica.workspace.keptTask(of: session)?.state.status.kind == .processing else {
        return []
      }
      let actions = core.taskHeard(.ended(.cancelled), in: session, at: context, store: store)
      let idle = Command.reportTask(
        TaskReport(session: session, status: .idle, milliseconds: context.wall))
      // If it cannot be written now, it is written with the next turn.
      let done = try? core.commandGiven(
        idle, recordsUndo: false, waitsForDisk: false, at: context, store: store)
      return actions + (done?.actions ?? [])
    }
  }

  func note(_ news: TaskEvent, in session: SessionID) async {
    await client.engine.note { core, context, store in
      core.taskHeard(news, in: session, at: context, store: store)
    }
  }
}
