import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

extension APIHandlers {
  // MARK: - Sessions and their queues

  func addSessionRoutes(to api: RouterGroup<Context>) {
    api.get("sessions") { request, context in
      let query = request.uri.queryParameters
      let isArchived = query.get("archived").map { $0 == "true" }
      let sessions = client.workspace().sessions().filter {
        mayName($0.id, context) && (isArchived ?? $0.archived) == $0.archived
      }
      let page = try Page(of: sessions, asked: query, \.id.rawValue)
      let ended = try await conversations.ended()
      let closed = page.items.map(\.id).filter(ended.contains)
      return CanonicalJSON.response(
        SessionsAnswer(
          sessions: page.items.map(SessionAnswer.init), next: page.next,
          closed: closed.isEmpty ? nil : closed))
    }
    api.get("sessions/:session") { _, context in
      let id = try session(context)
      guard let view = client.workspace().session(id) else {
        throw QueueError.sessionNotFound(id: id.rawValue)
      }
      return CanonicalJSON.response(try await described([view])[0])
    }
    api.post("sessions") { request, _ in
      let body = try await decoded(SessionRequest.self, from: request)
      let id = try SessionID(body.id)
      guard body.byAgent == true else {
        return try await perform(.addSession(id, name: body.name, project: body.project))
      }
      // An agent may not change the name that a user gave, or where its prompts run.
      let known = client.workspace().session(id)
      let isNamed = known.map { $0.name != id.rawValue } ?? false
      let hasProject = known.map { !$0.project.isEmpty } ?? false
      return try await perform(
        .addSession(
          id, name: isNamed ? nil : body.name, project: hasProject ? nil : body.project),
        isOfPerson: false)
    }
    addNamedSessionRoutes(to: api)
  }

  private func addNamedSessionRoutes(to api: RouterGroup<Context>) {
    api.patch("sessions/:session") { request, context in
      let body = try await decoded(RenameRequest.self, from: request)
      return try await perform(.renameSession(try session(context), name: body.name))
    }
    api.delete("sessions/:session") { _, context in
      CanonicalJSON.response(try await client.deleting(try session(context)))
    }
    api.put("sessions/:session/archive") { _, context in
      try await perform(.archive(try session(context)))
    }
    api.delete("sessions/:session/archive") { _, context in
      try await perform(.unarchive(try session(context)))
    }
    api.get("sessions/:session/queue") { request, context in
      var answer = try await shownQueue(try session(context), asked: request.uri.queryParameters)
      if readsOwnAlone(context) { answer.hideNeeds() }
      return CanonicalJSON.response(answer)
    }
    api.get("messages/unsent") { _, _ in
      CanonicalJSON.response(UnsentAnswer(messages: try await unsent()))
    }
    api.post("sessions/:session/queue") { request, context in
      let session = try session(context)
      var body = try await decoded(
        SendRequest.self, from: request, upTo: Route.attachmentBodyBytesMax)
      if let agent = context.agent {
        try await check(body, to: session, of: agent, context)
        body.byAgent = true
      }
      return CanonicalJSON.response(try await send(body, to: session, context), status: .created)
    }
    api.delete("sessions/:session/queue") { _, context in
      CanonicalJSON.response(try await clear(try session(context)))
    }
    api.put("sessions/:session/pause") { request, context in
      let session = try session(context)
      let body = try await decodedIfPresent(PauseRequest.self, from: request)
      return try await perform(.pause(session, reason: body?.reason))
    }
    api.delete("sessions/:session/pause") { _, context in
      try await perform(.resume(try session(context)))
    }
  }

  /// A page of a session's queue, with the state of each message, and the reason if none starts.
  func shownQueue(_ id: SessionID, asked: Parameters = Parameters()) async throws -> QueueAnswer {
    let view = try client.workspace().messageQueue(id)
    let page = try Page(of: view.messages, asked: asked, \.id.description)
    var answer = QueueAnswer(view, page: (page.items, page.next))
    let unsent = Dictionary(
      try await unsent().map { ($0.id, $0.delivery) }, uniquingKeysWith: { $1 })
    for index in answer.messages.indices {
      let id = answer.messages[index].id
      answer.messages[index].delivery = unsent[id]
      answer.messages[index].noteNeed(in: client.workspace())
      await answer.messages[index].noteAbsence(in: view.session, of: client)
      guard answer.messages[index].merged == true else { continue }
      answer.messages[index].base = try client.contentVersion(of: id).description
    }
    answer.note = try await obstacle(of: id)
    return answer
  }

  /// The changes among this device's latest messages that the server may not have; empty without a
  /// server.
  private func unsent() async throws -> [UnsentAnswer.Message] {
    let sync = client.syncStatus()
    guard sync.state != .notPaired, sync.outgoing > 0 else { return [] }
    return try await client.queues.unsentMessages().compactMap { id, status, refusal in
      Delivery(status, isConnected: sync.state == .connected).map {
        UnsentAnswer.Message(id: id, delivery: $0, error: refusal)
      }
    }
  }

  func send(
    _ body: SendRequest, to session: SessionID, _ context: Context
  ) async throws -> SentAnswer {
    // A message that is refused because of its text or a file must not leave files behind.
    let files = body.attachments ?? []
    guard files.count <= Limits.messageAttachmentsMax else {
      throw QueueError.limitReached(
        what: "attachments in one message", max: Limits.messageAttachmentsMax)
    }
    var command = Command.Send(
      session: session, id: try body.messageID(), text: body.text,
      priority: try body.priority.map(priority(named:)) ?? .normal, project: body.project,
      requeuesThread: client.settings.queueEnabled)
    command.byAgent = body.byAgent ?? false
    command.later = try body.later.map(WaitingHandlers.time(named:))
    command.needs = try NamedNeeds(body.needs).ids(for: context, self)
    command.goesFirst = body.interrupt != nil
    let shown = try body.interrupt.map { try turn($0, in: session, for: command) }
    if !files.isEmpty { try client.check(.send(command)) }
    for file in files { try checked(file, context) }
    for file in files { command.attachments.append(try await kept(file, context)) }
    guard
      case .queued(let id, let position, let count, let isWarning) = try await client.perform(
        .send(command), isOfPerson: !command.byAgent
      ).notice
    else {
      // It was sent before and withdrawn since: report its state.
      let view = try client.workspace().message(command.id)
      return SentAnswer(
        id: view.id, session: view.session, status: view.status, position: view.position, count: 0)
    }
    let full = WarningEvent(
      session: session, count: count, max: client.settings.maxQueueSize)
    let vainNeed = context.agent == nil ? client.workspace().vainNeed(of: id) : nil
    var answer = SentAnswer(
      id: id, session: session, status: .queued, position: position, count: count,
      warning: isWarning ? full.message : client.refusal ?? vainNeed ?? client.pause(of: session))
    if let shown { answer.stop = await interrupt(shown, for: id, in: session) }
    guard let view = client.workspace().session(session),
      let described = try await described([view]).first
    else { return answer }
    answer.hostName = view.host == client.deviceID ? nil : described.hostName
    answer.note = described.standing?.lacksHost == true ? described.note : nil
    return answer
  }

  func priority(named name: String) throws -> Priority {
    guard let priority = Priority(name: name) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidPriority",
        message: "There is no priority \"\(name)\": choose urgent or normal.",
        exitCode: ExitStatus.usage)
    }
    return priority
  }

  // MARK: - Messages

  func addMessageRoutes(to api: RouterGroup<Context>) {
    api.get("messages") { _, _ in
      let workspace = client.workspace()
      let ids = try workspace.sessions().filter { $0.waiting > 0 }.flatMap { session in
        try workspace.messageQueue(session.id).messages.map(\.id)
      }
      return CanonicalJSON.response(MessageIDsAnswer(ids: ids))
    }
    api.get("messages/:message") { _, context in
      var answer = try snapshot(of: try message(context))
      answer.delivery = try await unsent().first { $0.id == answer.id }?.delivery
      await answer.noteAbsence(in: answer.session, of: client)
      if readsOwnAlone(context) { answer.hideNeed() }
      var response = CanonicalJSON.response(answer)
      response.headers[.eTag] = answer.base.map { "\"\($0)\"" }
      return response
    }
    api.put("messages/:message/priority") { request, context in
      let body = try await decoded(PriorityRequest.self, from: request)
      let id = try message(context)
      return try await perform(
        .setPriority(id, try priority(named: body.priority)), changing: [id])
    }
    api.post("messages/:message/restore") { _, context in
      let id = try message(context)
      var answer = ReceiptAnswer(try await client.perform(.restore(id)))
      answer.messages = changed([id])
      let gone = try await client.attachments.goneFiles(of: id)
      answer.missingFiles = gone.isEmpty ? nil : gone
      return CanonicalJSON.response(answer)
    }
    api.post("messages/:message/retry") { _, context in
      let id = try message(context)
      return try await perform(.retry(id), changing: [id])
    }
    api.post("messages/:message/skip") { _, context in
      let id = try message(context)
      return try await perform(.skip(id), changing: [id])
    }
    api.post("messages/cancel") { request, context in
      let body = try await decoded(MessagesRequest.self, from: request)
      let ids = try messages(body.ids)
      if let agent = context.agent { try check(ids, of: agent) }
      return CanonicalJSON.response(try await cancel(ids))
    }
    api.post("messages/move") { request, context in
      let body = try await decoded(MoveRequest.self, from: request)
      let ids = try messages(body.ids)
      let target = try target(of: body)
      if let agent = context.agent { try check(ids, movingTo: target, of: agent) }
      var answer = ReceiptAnswer(try await client.perform(.move(ids, to: target)))
      answer.messages = changed(ids)
      answer.note = try client.workspace().place(of: ids, movedTo: target)
      return CanonicalJSON.response(answer)
    }
  }

  /// Withdraws messages, and reports for each whether that was in time.
  private func cancel(_ ids: [MessageID]) async throws -> ReceiptAnswer {
    let (receipt, outcomes) = try await client.queues.cancel(ids)
    var answer = ReceiptAnswer(receipt)
    answer.outcomes = outcomes.sorted { $0.key < $1.key }.map { id, outcome in
      ReceiptAnswer.Outcome(id: id, outcome: "\(outcome)")
    }
    answer.messages = changed(ids)
    return answer
  }

  /// Withdraws all waiting messages; a message that an agent works on stays.
  private func clear(_ session: SessionID) async throws -> ReceiptAnswer {
    // A message that starts in between no longer waits.
    while true {
      let waiting = try client.workspace().messageQueue(session).messages
        .filter { $0.status != .running }.map(\.id)
      // Only a merge can collect more messages than one command may name.
      guard !waiting.isEmpty, waiting.count <= Limits.batchMax else {
        return ReceiptAnswer(try await client.perform(.clear(session)))
      }
      do {
        return try await cancel(waiting)
      } catch ClientError.queue(.alreadyStarted) {
        continue
      }
    }
  }

  /// A message in its current state, with the data that an editor needs for saving.
  func snapshot(of id: MessageID) throws -> MessageAnswer {
    var answer = MessageAnswer(try client.workspace().message(id), namesSession: true)
    answer.base = try client.contentVersion(of: id).description
    answer.noteNeed(in: client.workspace())
    return answer
  }

  private func messages(_ prefixes: [String]) throws -> [MessageID] {
    guard !prefixes.isEmpty else { throw APIProblem.badRequest("The field ids names no message.") }
    guard prefixes.count <= Limits.batchMax else {
      throw QueueError.limitReached(what: "items in one command", max: Limits.batchMax)
    }
    let workspace = client.workspace()
    return try prefixes.map { try workspace.messageID(fromPrefix: $0) }
  }

  private func target(of body: MoveRequest) throws -> MoveTarget {
    let workspace = client.workspace()
    switch (body.to, body.before, body.after) {
    case (let position?, nil, nil): return .position(position)
    case (nil, let prefix?, nil): return .before(try workspace.messageID(fromPrefix: prefix))
    case (nil, nil, let prefix?): return .after(try workspace.messageID(fromPrefix: prefix))
    default: throw APIProblem.badRequest("Give exactly one of to, before and after.")
    }
  }
}

extension SendRequest {
  /// The given id, or a fresh one.
  func messageID() throws -> MessageID {
    guard let id else { return .random() }
    guard let parsed = MessageID(id) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidMessageID",
        message: "\"\(id)\" is not a UUID. To get a new one, leave the id out.",
        exitCode: ExitStatus.usage)
    }
    return parsed
  }
}

extension Delivery {
  /// - Returns: nil if the server has it.
  fileprivate init?(_ status: QueueStatus, isConnected: Bool) {
    switch status {
    case .queued: self = isConnected ? .sending : .here
    case .sending, .awaitingAck: self = .sending
    case .failed: self = .refused
    case .delivered: return nil
    }
  }
}

extension QueueClient {
  /// Deletes a session, and says if its agent may not hear of that yet.
  fileprivate func deleting(_ session: SessionID) async throws -> ReceiptAnswer {
    let workspace = workspace()
    let isAway = ![.connected, .notPaired].contains(syncStatus().state)
    let worksElsewhere =
      workspace.session(session)?.host.map { $0 != deviceID } == true
      && (try? workspace.messageQueue(session))?.isExecuting == true
    var answer = ReceiptAnswer(try await perform(.deleteSession(session), isOfPerson: true))
    answer.unconfirmed = isAway && worksElsewhere ? true : nil
    return answer
  }
}
