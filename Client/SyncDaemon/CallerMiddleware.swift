import Basics
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient
import Synchronization

/// Runs before every route of the Unix sockets, and finds out whether a user asks or an agent that
/// this daemon started. An agent gets what its turn may have (`Route.agentAccess`), whichever
/// socket it uses.
struct CallerMiddleware: RouterMiddleware {
  typealias Context = APIHandlers.Context

  var api: APIHandlers
  /// Whether it is the socket that requires a turn's token.
  var takesAgentsAlone: Bool

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard let agent = try await agent(asking: request, over: context.channel) else {
      return try await next(request, context)
    }
    do {
      // A path without a route is reported as unknown; a path with a route is in the table.
      if let path = context.endpointPath {
        guard let route = Route.named(request.method.rawValue, path) else {
          throw APIProblem.agentNotAllowed
        }
        try api.check(route, of: agent, context)
      }
      var context = context
      context.agent = agent
      return try await next(request, context)
    } catch let error as QueueError {
      throw api.shown(error, to: agent, request)
    } catch ClientError.queue(let error) {
      throw api.shown(error, to: agent, request)
    }
  }

  /// nil if a user asks.
  private func agent(
    asking request: Request, over channel: any Channel
  ) async throws -> CallingAgent? {
    if let word = request.header("authorization"), word.hasPrefix("Bearer ") {
      guard let agent = api.turns.agent(withToken: String(word.dropFirst(7))) else {
        throw APIProblem.turnTokenUnknown
      }
      return agent
    }
    guard !takesAgentsAlone else { throw APIProblem.turnTokenUnknown }
    guard let caller = await CallingProcess.of(channel) else { return nil }
    guard caller.isOfThisUser else { throw APIProblem.foreignUser }
    // If a process opened the connection for another process and ended, it does not identify the
    // other.
    guard let line = caller.lineage() else { throw APIProblem.callerGone }
    guard let trace = TurnTrace.found(in: line, ignoring: api.turns.ownTraces) else {
      if let refusal = api.turns.refusal(ofUntraced: line) { throw refusal }
      return nil
    }
    guard let agent = api.turns.agent(of: trace) else {
      throw api.turns.owns(trace) ? APIProblem.agentTurnOver : APIProblem.agentOfAnotherDaemon
    }
    return agent
  }
}

/// The agents that users work with and that wait for an answer, by request.
final class Askers: Sendable {
  private let agents = Mutex<[QueueModel.RequestID: AgentProcess]>([:])
  /// The number of agents that ask in each session, and whether the first of them began outside a
  /// turn.
  private let sessions = Mutex<[SessionID: (count: Int, isOutside: Bool)]>([:])

  /// Records an agent while its request waits.
  func during<Value>(
    _ request: QueueModel.RequestID, of agent: AgentProcess?, _ body: () async throws -> Value
  ) async rethrows -> Value {
    agents.withLock { $0[request] = agent }
    defer { agents.withLock { $0[request] = nil } }
    return try await body()
  }

  func agent(asking request: QueueModel.RequestID) -> AgentProcess? {
    agents.withLock { $0[request] }
  }

  /// A request of a session begins.
  ///
  /// - Parameter isOutside: whether no turn was reported there, so that its end will not be,
  ///   either.
  func begins(in session: SessionID, isOutside: Bool) {
    sessions.withLock { $0[session, default: (0, isOutside)].count += 1 }
  }

  /// - Returns: whether the session has no open request, and the first one began outside a turn.
  func ends(in session: SessionID) -> Bool {
    sessions.withLock { sessions in
      sessions[session]?.count -= 1
      guard let left = sessions[session], left.count == 0 else { return false }
      sessions[session] = nil
      return left.isOutside
    }
  }
}

extension APIHandlers {
  private var policy: AgentMessagePolicy { client.settings.agents.messages }

  /// - Throws: if an agent's turn may not request that route.
  func check(_ route: Route, of agent: CallingAgent, _ context: Context) throws {
    switch route.agentAccess {
    case .free, .body: return
    case .refused: throw APIProblem.agentNotAllowed
    case .everywhere: guard policy == .any else { throw APIProblem.agentNotAllowed }
    case .ownSession:
      guard try session(context) == agent.session else { throw APIProblem.agentNotAllowed }
    case .session: try check(try session(context), of: agent)
    case .message:
      try check(try client.workspace().message(try message(context)).session, of: agent)
    case .agentsMessage: try check([try message(context)], of: agent)
    }
  }

  /// Whether the caller may learn of a session. An agent may if it may queue there, with or without
  /// an approval.
  func mayName(_ session: SessionID, _ context: Context) -> Bool {
    guard let agent = context.agent else { return true }
    return session == agent.session || policy != .own
  }

  /// Whether the caller is an agent that may not read other sessions.
  func readsOwnAlone(_ context: Context) -> Bool { context.agent != nil && policy != .any }

  /// The error that an agent receives: it names no messages in sessions that the agent may not see.
  fileprivate func shown(_ error: QueueError, to agent: CallingAgent, _ request: Request)
    -> any Error
  {
    func isOpen(_ session: SessionID) -> Bool { (try? check(session, of: agent)) != nil }
    switch error {
    case .messageAmbiguous(let prefix, let candidates):
      return QueueError.messageAmbiguous(
        prefix: prefix, candidates: candidates.filter { isOpen($0.session) })
    case .messageIDTaken(let id):
      let taken = MessageID(id).flatMap { try? client.workspace().message($0) }
      // Like the plain answer, it does not contain the existing message.
      return taken.map { isOpen($0.session) } == true ? error : APIProblem(error, request: request)
    default: return error
    }
  }

  /// - Throws: if an agent may not act in a session other than its own.
  func check(_ session: SessionID, of agent: CallingAgent) throws {
    guard session == agent.session || policy == .any else { throw APIProblem.agentNotAllowed }
  }

  /// - Throws: if an agent would change a message that its user wrote, or a message in a session
  ///   other than its own.
  func check(_ messages: [MessageID], of agent: CallingAgent) throws {
    let workspace = client.workspace()
    for id in messages {
      let message = try workspace.message(id)
      try check(message.session, of: agent)
      guard message.isByAgent else { throw APIProblem.messageOfPerson }
    }
  }

  /// - Throws: as `check(_:of:)`, or if the place is in another session.
  func check(_ messages: [MessageID], movingTo target: MoveTarget, of agent: CallingAgent) throws {
    try check(messages, of: agent)
    switch target {
    case .position: return
    case .before(let id), .after(let id):
      try check(try client.workspace().message(id).session, of: agent)
    }
  }

  /// - Throws: if an agent may not queue that.
  func check(
    _ send: SendRequest, to session: SessionID, of agent: CallingAgent, _ context: Context
  ) async throws {
    let project = client.workspace().session(session)?.project
    guard send.project == nil || send.project == project else { throw APIProblem.agentNotAllowed }
    guard session != agent.session else { return }
    switch policy {
    case .any: return
    case .own: throw APIProblem.agentNotAllowed
    case .ask:
      // The user who allows it sees all of it.
      guard send.text.utf8.count <= Limits.taskDetailsBytesMax, (send.attachments ?? []).isEmpty,
        (send.priority ?? "normal") == "normal"
      else { throw APIProblem.agentAsksTooMuch }
      let line = send.text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      let ask = AgentAsk.approval(
        toolName: "queue_add",
        summary: "Queue in \(session): \(line)".cutWithMark(
          toUTF8Bytes: APIHandlers.summaryBytesMax),
        details: send.text)
      let patience = Duration.seconds(
        min(client.settings.approvalPatience, APIHandlers.agentPatienceSecondsMax))
      let answer = try await tasks.waiting(for: ask, in: agent.session, patience, context)
      guard answer.ending == .allowed else { throw APIProblem.agentDenied }
    }
  }

  /// The number of bytes of a prompt's first line that are shown.
  private static let summaryBytesMax = 200
  /// Callers wait a minute for a send.
  private static let agentPatienceSecondsMax = 50
}

extension APIProblem {
  static let agentNotAllowed = APIProblem(
    .forbidden, code: "agentNotAllowed",
    message: "An agent that works on a prompt may not do this. It can list and queue messages in "
      + "its own session, report progress, and ask; you do the rest (setting agentMessages).",
    exitCode: ExitStatus.authentication)

  static let messageOfPerson = APIProblem(
    .forbidden, code: "messageOfPerson",
    message: "A person wrote that message; an agent can change only messages that agents queued.",
    exitCode: ExitStatus.authentication)

  static let agentDenied = APIProblem(
    .forbidden, code: "agentDenied",
    message: "The agent has no permission to queue this in another session.",
    exitCode: ExitStatus.authentication
  )

  static let agentAsksTooMuch = APIProblem(
    .forbidden, code: "agentAsksTooMuch",
    message: "You can only allow what is shown to you: for another session, that is a text of at "
      + "most \(Limits.taskDetailsBytesMax) bytes, not urgent, without files.",
    exitCode: ExitStatus.authentication)

  static let ownRequest = APIProblem(
    .forbidden, code: "ownRequest",
    message: "This answer comes from the agent that asks. Answer at its prompt, in your own "
      + "terminal, or on another device.", exitCode: ExitStatus.authentication)

  static let agentTurnOver = APIProblem(
    .forbidden, code: "agentTurnOver",
    message:
      "An agent started this process, and the agent's turn has ended. Use your own terminal.",
    exitCode: ExitStatus.authentication)

  static let agentUnknown = APIProblem(
    .forbidden, code: "agentUnknown",
    message:
      "An agent started this process, but its environment no longer names the turn. Run it "
      + "with the environment that the agent had.", exitCode: ExitStatus.authentication)

  static let agentOfAnotherDaemon = APIProblem(
    .forbidden, code: "agentOfAnotherDaemon",
    message:
      "An agent of another daemon started this process, so it can use only that daemon. Use "
      + "your own terminal.", exitCode: ExitStatus.authentication)

  static let turnTokenUnknown = APIProblem(
    .unauthorized, code: "turnTokenUnknown",
    message: "Only agents that this daemon started can use this socket, with COSPOOL_TOKEN, "
      + "during their turn. Use cospool.sock.", exitCode: ExitStatus.authentication)

  static let callerGone = APIProblem(
    .forbidden, code: "callerGone",
    message: "The process that opened this connection has ended. Send the request from a process "
      + "that keeps running.",
    exitCode: ExitStatus.authentication)

  static let foreignUser = APIProblem(
    .forbidden, code: "foreignUser",
    message: "The daemon belongs to another user. Run the command as that user.",
    exitCode: ExitStatus.authentication)
}
