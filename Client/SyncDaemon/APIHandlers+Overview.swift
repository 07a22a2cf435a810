import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The overview, and the messages of all sessions.
extension APIHandlers {
  func addOverviewRoutes(to api: RouterGroup<Context>) {
    api.get("overview") { request, _ in
      let isArchived = request.uri.queryParameters.get("archived") == "true"
      let sessions = client.workspace().sessions()
      let shown = sessions.filter { $0.archived == isArchived }
      return CanonicalJSON.response(
        OverviewAnswer(
          sync: client.syncStatus(), sessions: try await described(shown),
          archived: isArchived ? 0 : sessions.count - shown.count))
    }
    api.get("queues") { request, context in
      let query = request.uri.queryParameters
      let workspace = client.workspace()
      let session = try query.get("session").map { try SessionID($0) }
      if let session, let agent = context.agent { try check(session, of: agent) }
      if let session, workspace.session(session) == nil {
        throw QueueError.sessionNotFound(id: session.rawValue)
      }
      var wanted = workspace.sessions().filter { session == nil || $0.id == session }
      if let agent = context.agent { wanted.removeAll { (try? check($0.id, of: agent)) == nil } }
      var shown = try await queues(
        of: wanted, query.get("state") ?? "waiting", isNamed: session != nil, workspace)
      if readsOwnAlone(context) {
        for index in shown.indices { shown[index].hideNeeds() }
      }
      return CanonicalJSON.response(QueuesAnswer(queues: shown))
    }
  }

  /// - Throws: `APIProblem` if there is no such state.
  private func queues(
    of sessions: [SessionView], _ state: String, isNamed: Bool, _ workspace: Workspace
  ) async throws -> [QueueAnswer] {
    let isWanted: (MessageView) -> Bool
    switch state {
    case "waiting":
      var queues: [QueueAnswer] = []
      for session in sessions where session.waiting > 0 || isNamed {
        queues.append(try await shownQueue(session.id))
      }
      return queues
    case "cancelled": isWanted = { $0.status == .cancelled }
    case "done": isWanted = { $0.status != .cancelled }
    default:
      throw APIProblem(
        .unprocessableContent, code: "invalidState",
        message: "There is no state \"\(state)\": choose from waiting, done, cancelled.",
        exitCode: ExitStatus.usage)
    }
    return try sessions.compactMap { session in
      // The latest come first, as in the log.
      let over = workspace.finishedMessages(of: session.id).filter(isWanted)
        .sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
      guard !over.isEmpty || isNamed else { return nil }
      return QueueAnswer(try workspace.messageQueue(session.id), page: (over, nil))
    }
  }

  /// Sessions with their hosts and states.
  func described(_ sessions: [SessionView]) async throws -> [SessionAnswer] {
    let kinds = await client.execution.agentKinds()
    let obstacles = await client.execution.obstacles(of: sessions.map(\.id))
    let sync = client.syncStatus()
    let awaited = Dictionary(grouping: await client.tasks.awaitedRequests(), by: \.session)
    let elsewhere = await client.execution.runsElsewhere()
    return try sessions.map { view in
      var answer = SessionAnswer(view)
      answer.hostName = view.host.map(name(of:))
      let kind =
        view.host == client.deviceID ? kinds[view.id] ?? client.settings.agents.kind : nil
      answer.agent = kind?.rawValue
      let merged = client.workspace().mergedCount(of: view.id)
      answer.merged = merged == 0 ? nil : merged
      (answer.standing, answer.note) = try standing(
        of: view, obstacles[view.id], asked: awaited[view.id] ?? [], elsewhere[view.id], sync)
      return answer
    }
  }

  /// Why no message of a session's queue starts, if nothing else in the queue shows the reason.
  func obstacle(of session: SessionID) async throws -> String? {
    guard let view = client.workspace().session(session) else { return nil }
    // An agent that works on a user's own prompt blocks the queue, too.
    if let obstacle = await client.execution.obstacles(of: [session])[session] {
      return try words(for: obstacle, of: view, client.syncStatus())
    }
    guard let answer = try await described([view]).first,
      let standing = answer.standing,
      [SessionAnswer.Standing.merged, .unhosted, .hostAway, .waiting].contains(standing)
    else { return nil }
    return answer.note
  }

  private func standing(
    of view: SessionView, _ obstacle: StartObstacle?, asked: [AwaitedRequest],
    _ elsewhere: TurnElsewhere?, _ sync: SyncStatus
  ) throws -> (SessionAnswer.Standing, String?) {
    if let first = asked.first {
      let more = asked.count > 1 ? " (and \(asked.count - 1) more)" : ""
      return (.asks, first.request.note + more)
    }
    let queue = view.waiting > 0 ? try client.workspace().messageQueue(view.id) : nil
    if let error = queue?.currentError { return (.stopped, error) }
    if let note = turnOfAbsent(in: view, isExecuting: queue?.isExecuting == true, elsewhere, sync) {
      return (.hostAway, note)
    }
    let task = view.task?.status
    if queue?.isExecuting == true || task?.kind.isUnderWay == true {
      return (.working, task?.kind.isUnderWay == true ? task?.note : queue?.messages.first?.content)
    }
    if view.paused {
      let reasons = queue?.pauseReasons.filter { !$0.isEmpty }.joined(separator: "; ")
      return (.paused, reasons?.isEmpty == false ? reasons : nil)
    }
    guard let next = try nextMessage(of: view.id), queue?.messages.isEmpty == false else {
      return (.idle, task.flatMap { $0.note.isEmpty ? nil : $0.note })
    }
    guard let host = view.host else {
      return (.unhosted, "not assigned to a device: cospool session host \(quoted(view)) this")
    }
    if let obstacle { return (obstacle.standing, try words(for: obstacle, of: view, sync)) }
    // Any device can settle it, whichever device runs it.
    if client.workspace().waitsForChoice(next.id) {
      return (.merged, try words(for: .merged, of: view, sync))
    }
    let state = client.workspace().dispatchState(of: next.id)
    if state?.isIncomplete == true {
      return (.waiting, try words(for: .changeIncomplete, of: view, sync))
    }
    if state?.isBlank == true { return (.waiting, try words(for: .blank, of: view, sync)) }
    if sync.isRemoved(host, own: client.deviceID) {
      return (
        .hostAway, "\(name(of: host)) was revoked: cospool session host \(quoted(view)) this"
      )
    }
    if sync.devices.contains(where: { $0.id == host && !$0.connected }) {
      return (.hostAway, "\(name(of: host)) is not connected")
    }
    let time = [next.notBefore, next.heldUntil, next.later].compactMap(\.self).max() ?? 0
    guard time > client.time else {
      let need = client.workspace().unmetNeeds(of: next.id).mostPressing
      return (.waiting, try need.flatMap { try words(for: .needs($0), of: view, sync) })
    }
    return (.waiting, try words(for: .notBefore(time), of: view, sync))
  }

  /// A turn that may still run on a device that is absent or no longer the host; nil if there is
  /// none.
  private func turnOfAbsent(
    in view: SessionView, isExecuting: Bool, _ elsewhere: TurnElsewhere?, _ sync: SyncStatus
  ) -> String? {
    guard isExecuting || elsewhere != nil, let host = elsewhere?.device ?? view.host else {
      return nil
    }
    let turn = AbsentTurn(
      host: host, own: client.deviceID, name: name(of: host), elsewhere: elsewhere, sync: sync)
    return turn.words(for: quoted(view))
  }

  /// The message of a queue that starts next; nil if nothing waits.
  private func nextMessage(of session: SessionID) throws -> MessageView? {
    let workspace = client.workspace()
    let line = QueueLine(of: session, in: workspace, by: client.time)
    return try (line.first ?? line.nextMessage ?? line.needy).map(workspace.message)
  }

  /// A session on a command line, quoted for a shell: by its id, which no other session's name
  /// precedes. Several sessions can have one name, and one of them the id that is another's name.
  func quoted(_ session: SessionView) -> String { Shell.quotedOperand(session.id.rawValue) }

  /// Why no message of a session starts here, and the remedy.
  func words(
    for obstacle: StartObstacle, of session: SessionView, _ sync: SyncStatus
  ) throws -> String? {
    return try nextMessage(of: session.id).flatMap { first in
      obstacle.words(
        for: quoted(session), message: first, now: client.time, agent: client.settings.agents.kind,
        awaitsServer: sync.state != .connected && sync.state != .notPaired,
        isUnpaired: sync.state == .notPaired && sync.workspace != nil,
        in: client.workspace())
    }
  }
}
