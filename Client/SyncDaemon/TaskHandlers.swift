import AgentFormats
import Basics
import Foundation
import Hummingbird
import LocalAPI
import QueueModel
import ServiceLifecycle
import SyncClient

/// The work of agents, their requests, and the answers.
struct TaskHandlers: RouteHandlers {
  var client: QueueClient
  let askers: Askers
  let ends: ConnectionEnds

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("tasks") { _, _ in CanonicalJSON.response(TasksAnswer(tasks: client.tasks.all())) }
    api.get("sessions/:session/task") { _, context in
      CanonicalJSON.response(
        TaskStateAnswer(try await whole(try task(of: try session(context)))))
    }
    api.put("sessions/:session/task/progress") { request, context in
      let session = try session(context)
      let body = try await decoded(ProgressRequest.self, from: request)
      _ = try task(of: session)
      await client.tasks.noteProgress(try body.progress(), in: session)
      return CanonicalJSON.response(TaskStateAnswer(try task(of: session)))
    }
    api.post("sessions/:session/asks") { request, context in
      let session = try session(context)
      let body = try await decoded(AskRequest.self, from: request)
      let answer = try await ask(try body.ask(), in: session, body, context)
      return CanonicalJSON.response(
        DecisionAnswer(answer, session: session, name: answer.device.map(name(of:))))
    }
    api.put("sessions/:session/task/prompt") { request, context in
      let session = try session(context)
      let body = try await decoded(PromptRequest.self, from: request)
      _ = try task(of: session)
      await client.tasks.notePrompt(try AskRequest(body).ask(), in: session)
      return CanonicalJSON.response(TaskStateAnswer(try task(of: session)))
    }
    api.post("asks/:ask/answer") { request, context in
      let named = try parameter("ask", of: context)
      let body = try await decoded(DecisionRequest.self, from: request)
      return CanonicalJSON.response(try await answer(named, body, context))
    }
    api.post("asks/answer") { request, context in
      let body = try await decoded(DecisionRequest.self, from: request)
      return CanonicalJSON.response(try await answer(nil, body, context))
    }
  }

  private func task(of session: SessionID) throws -> TaskState {
    guard let view = client.workspace().session(session) else {
      throw QueueError.sessionNotFound(id: session.rawValue)
    }
    return view.task
      ?? TaskState(
        sessionId: session, projectPath: view.project, status: .idle, startTime: 0,
        lastUpdateTime: 0)
  }

  /// The task with the whole text of its requests, as far as it is available; `isCut` marks the
  /// others.
  private func whole(_ task: TaskState) async throws -> TaskState {
    var task = task
    if case .awaitingApproval(let request) = task.status, request.isCut {
      task.status = .awaitingApproval(try await whole(request) ?? request)
    }
    for (index, request) in task.alsoAwaits.enumerated() {
      guard case .approval(let request) = request, request.isCut else { continue }
      task.alsoAwaits[index] = .approval(try await whole(request) ?? request)
    }
    return task
  }

  /// nil if it is not completely available within seconds.
  private func whole(_ request: ApprovalRequest) async throws -> ApprovalRequest? {
    await withTaskGroup(of: ApprovalRequest?.self) { group in
      group.addTask { try? await client.tasks.whole(request) }
      group.addTask {
        try? await Task.sleep(for: TaskHandlers.wholeLimit)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }

  /// Waits for the decision. If the asking program hangs up, the wait ends, and its request is
  /// withdrawn.
  private func ask(
    _ ask: AgentAsk, in session: SessionID, _ body: AskRequest, _ context: Context
  ) async throws -> AskAnswer {
    if let bytes = ask.text?.utf8.count, bytes > Limits.taskInputBytesMax {
      return AskAnswer.tooLong(bytes, promptsItself: body.promptsItself ?? false)
    }
    let patience = try body.patience(else: client.settings.approvalPatience)
    let asker = await CallingProcess.of(context.channel)?.askingAgent()
    let promptsItself = body.promptsItself ?? false
    // A hook's agent then asks at its own prompt; a script has none.
    if !promptsItself, let host = client.workspace().session(session)?.host, host != client.deviceID
    {
      throw APIProblem.hostedElsewhere(name(of: host))
    }
    let isInTurn = client.workspace().session(session)?.task?.status.kind.isUnderWay == true
    // A hook that prompts by itself is notified of its turn's end.
    askers.begins(in: session, isOutside: !isInTurn && !promptsItself)
    let answer: Result<AskAnswer, any Error>
    do {
      var given: AskAnswer
      var count = 0
      repeat {
        let request = QueueModel.RequestID.random()
        given = try await askers.during(request, of: asker) {
          try await waiting(
            for: ask, in: session, id: request, patience, promptsItself: promptsItself, context)
        }
        count += 1
        // The user allowed a different request: the question is asked again, under a name that has
        // no answer.
      } while given.isMistaken && count < TaskHandlers.asksMax
      answer = .success(given)
    } catch {
      answer = .failure(error)
    }
    // A script that asked outside a turn sends no further report.
    if askers.ends(in: session), !client.tasks.activity(of: session).busy.isBusy {
      await client.tasks.noteAskingEnded(in: session)
    }
    return try answer.get()
  }

  func waiting(
    for ask: AgentAsk, in session: SessionID, id: QueueModel.RequestID = .random(),
    _ patience: Duration,
    promptsItself: Bool = false, _ context: Context
  ) async throws -> AskAnswer {
    let client = client
    let waiting = Task {
      try await client.tasks.askOnce(
        ask, in: session, id: id, patience: patience, promptsItself: promptsItself)
    }
    return try await ends.during(
      context.channel.closeFuture, onClose: { waiting.cancel() }
    ) {
      try await cancelWhenGracefulShutdown {
        try await withTaskCancellationHandler {
          try await waiting.value
        } onCancel: {
          waiting.cancel()
        }
      }
    }
  }

  // MARK: - Answering

  /// How long a task's route waits for text that does not fit the register.
  private static let wholeLimit = Duration.seconds(3)
  /// How many times a request is asked again after the user allowed a different one.
  private static let asksMax = 3

  /// - Parameter named: a request or a session; nil for the only request that is awaited.
  private func answer(
    _ named: String?, _ body: DecisionRequest, _ context: Context
  ) async throws -> AnsweredAnswer {
    let verdict = try body.checkedVerdict()
    let asked = try await awaited(named, verdict)
    if let asker = askers.agent(asking: asked.request.id),
      await CallingProcess.of(context.channel)?.descends(from: asker) == true
    {
      throw APIProblem.ownRequest
    }
    if client.tasks.isAskedAtHost(asked.request) {
      throw APIProblem.askedAtHost(
        at: client.workspace().taskDevice(of: asked.session).map(name(of:)))
    }
    if verdict == .allowed { try await checkShown(asked, body.digest) }
    let event = try await client.tasks.answer(
      TaskAnswer(
        session: asked.session, request: asked.request.id, verdict: verdict,
        text: body.text ?? "", digest: body.digest))
    switch event {
    case .taken, .waiting:
      await note(
        UndoLabel(kind: .answered, session: asked.session, text: Self.deed(verdict)))
      return AnsweredAnswer(
        result: event == .taken ? .taken : .waiting, session: asked.session,
        request: asked.request.id, verdict: verdict.name, about: asked.request.note)
    case .answeredAlready(let verdict, let device):
      throw APIProblem.answeredAlready(verdict, by: name(of: device))
    case .notAwaited, .tooLate:
      throw APIProblem.notAwaited
    }
  }

  private static func deed(_ verdict: Verdict) -> String {
    switch verdict {
    case .allowed: "allowing a request"
    case .denied: "denying a request"
    case .answered, .cancelled, .closed: "answering a question"
    }
  }

  /// An approval counts for what its user was shown, and never for something that this device
  /// cannot show.
  private func checkShown(_ asked: AwaitedRequest, _ digest: ContentHash?) async throws {
    guard digest == asked.request.digest else { throw APIProblem.notShown(in: asked.session) }
    guard case .approval(let request) = asked.request else { return }
    do {
      _ = try await client.tasks.whole(request)
    } catch {
      throw APIProblem.requestIncomplete(error)
    }
  }

  /// The named request: by its session, by its id or a beginning of it, or the only one. The id of
  /// a session means that session, whether or not it asks.
  private func awaited(_ named: String?, _ verdict: Verdict) async throws -> AwaitedRequest {
    // Answered requests that their hosts have not recorded yet are found, too, so that the answer
    // can name who answered.
    let all = client.tasks.all().flatMap { task in
      task.requests.map { AwaitedRequest(session: task.sessionId, request: $0) }
    }
    let session = named.flatMap { try? SessionID($0) }.flatMap {
      client.workspace().session($0)?.id
    }
    let found: [AwaitedRequest]
    if let session {
      let asked = all.filter { $0.session == session }
      let fitting = asked.filter { verdict.answers($0.request) }
      let open = await client.tasks.awaitedRequests().filter { fitting.contains($0) }
      // If several match, those without an answer count.
      found = fitting.isEmpty ? Array(asked.prefix(1)) : open.isEmpty ? [fitting[0]] : open
    } else if let named {
      found = NameMatch(named, among: all, id: \.request.id).all
    } else {
      found = await client.tasks.awaitedRequests().filter { verdict.answers($0.request) }
    }
    if let asked = found.first, found.count == 1 { return try checked(asked, verdict) }
    guard found.isEmpty else { throw APIProblem.askAmbiguous(found) }
    if let named { try refuseIfEnded(named) }
    let what = verdict.isAboutApproval ? "an approval" : "an answer"
    throw APIProblem(
      .notFound, code: "askNotFound",
      message: session.map { "The session \($0) has no open request." }
        ?? named.map {
          "No request \"\($0)\" is open. Name a session, or at least 4 characters of a "
            + "request's id: cospool task list shows open requests."
        } ?? "No request is waiting for \(what).", exitCode: ExitStatus.failed)
  }

  private func checked(
    _ asked: AwaitedRequest, _ verdict: Verdict
  ) throws -> AwaitedRequest {
    guard verdict.answers(asked.request) else {
      let session = asked.session
      let quoted = Shell.quoted(String(asked.request.id.description.prefix(8)))
      throw APIProblem(
        .unprocessableContent, code: "wrongVerdict",
        message: verdict.isAboutApproval
          ? "\(session) asks a question. Answer it: cospool answer \(quoted) TEXT."
          : "\(session) asks for permission. Decide: cospool approve \(quoted), or cospool deny \(quoted).",
        exitCode: ExitStatus.usage)
    }
    return asked
  }

  /// The registers' remaining state of a request that has ended, or of a session's latest one.
  private func refuseIfEnded(_ named: String) throws {
    let ended = client.tasks.all().first { task in
      guard let outcome = task.outcome else { return false }
      return outcome.request.description == named.lowercased()
        || task.sessionId.rawValue == named.lowercased()
    }
    guard let outcome = ended?.outcome else { return }
    if let device = outcome.device,
      let verdict = Verdict.allCases.first(where: { $0.ending == outcome.ending })
    {
      throw APIProblem.answeredAlready(verdict, by: name(of: device))
    }
    throw APIProblem.notAwaited
  }
}

extension TaskStatus.Kind {
  /// The thread's state while the task waits.
  var awaited: String? {
    switch self {
    case .awaitingApproval: "approval"
    case .awaitingAnswer: "answer"
    case .idle, .processing, .completed, .error: nil
    }
  }
}

extension Verdict {
  fileprivate var isAboutApproval: Bool { self == .allowed || self == .denied }
}

extension APIProblem {
  /// Names each by the shortest prefix of its id that no other one has.
  static func askAmbiguous(_ found: [AwaitedRequest]) -> APIProblem {
    let ids = found.map(\.request.id.description)
    let length =
      (8...36).first { length in Set(ids.map { $0.prefix(length) }).count == ids.count } ?? 36
    let names = ids.map { String($0.prefix(length)) }
    let lines = zip(names, found).map { name, asked in
      "\(name)  \(asked.session): \(asked.request.note.cut(toUTF8Bytes: 100))"
    }
    return APIProblem(
      .conflict, code: "askAmbiguous",
      message: "Several requests are open; name one by the beginning of its id:\n"
        + lines.joined(separator: "\n"), exitCode: ExitStatus.failed, candidates: names)
  }

  static func answeredAlready(_ verdict: Verdict, by name: String) -> APIProblem {
    APIProblem(
      .conflict, code: "answeredAlready",
      message: "The request was already answered by \(name): \(verdict.name).",
      exitCode: ExitStatus.conflict)
  }

  static func hostedElsewhere(_ name: String) -> APIProblem {
    APIProblem(
      .conflict, code: "hostedElsewhere",
      message:
        "\(name) runs this session's agent, so only that agent can ask in it. Ask there, or "
        + "name a session without a host: -s NAME.", exitCode: ExitStatus.conflict)
  }

  static func askedAtHost(at name: String?) -> APIProblem {
    APIProblem(
      .conflict, code: "notAwaited",
      message: "The request can no longer be answered from another device: the agent asks at its "
        + "own prompt"
        + (name.map { " on \($0)" } ?? "") + ".", exitCode: ExitStatus.conflict)
  }

  static func notShown(in session: SessionID) -> APIProblem {
    APIProblem(
      .conflict, code: "notShown",
      message: "An approval needs the field digest of the request that was shown. To see the "
        + "request: cospool task show \(Shell.quotedOperand(session.rawValue))",
      exitCode: ExitStatus.conflict)
  }

  static func requestIncomplete(_ error: ClientError) -> APIProblem {
    APIProblem(
      .conflict, code: "requestIncomplete",
      message:
        "This device cannot show the whole request (\(error)), so you cannot approve it "
        + "here. Try again, answer on the device where the agent runs, or deny it.",
      exitCode: ExitStatus.tryLater)
  }

  static let notAwaited = APIProblem(
    .conflict, code: "notAwaited",
    message: "The request is no longer open: it expired, was withdrawn, or its task has ended.",
    exitCode: ExitStatus.conflict)
}

extension ProgressRequest {
  func progress() throws -> TodoProgress {
    guard completed >= 0, total >= 0 else {
      throw APIProblem.badRequest("The fields completed and total must be whole numbers from 0 on.")
    }
    return TodoProgress(completed: completed, total: total, currentTask: currentTask)
  }
}

extension AskRequest {
  func ask() throws -> AgentAsk {
    switch kind {
    case "approval":
      guard let toolName, !toolName.isEmpty else {
        throw APIProblem.badRequest("An approval needs the name of a tool.")
      }
      guard let input else {
        return .approval(toolName: toolName, summary: summary ?? "", details: details)
      }
      guard let tree = JSONTree(Array(input.utf8), isShown: true) else {
        throw APIProblem.badRequest(
          "The field input must be a text with one JSON value, in which no object has a name "
            + "twice, and numbers are doubles or whole numbers of 64 bits."
        )
      }
      return .approval(ofTool: toolName, tree)
    case "question":
      guard let question, !question.isEmpty else {
        throw APIProblem.badRequest("A question needs a text.")
      }
      return .question(question, options: options ?? [])
    default:
      throw APIProblem(
        .unprocessableContent, code: "invalidAsk",
        message: "There is no kind \"\(kind)\": choose from approval, question.",
        exitCode: ExitStatus.usage)
    }
  }

  /// - Parameter standard: the device's setting, in seconds.
  func patience(else standard: Int) throws -> Duration {
    let seconds = patienceSeconds ?? Double(standard)
    guard seconds > 0, seconds <= Double(AskRequest.patienceSecondsMax) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidTimeout",
        message: "The patience must be more than 0 and at most "
          + "\(AskRequest.patienceSecondsMax) seconds.", exitCode: ExitStatus.usage)
    }
    return .milliseconds(Int64(seconds * 1_000))
  }
}

extension AskAnswer {
  /// The answer to an agent whose permission request has more text than can be shown.
  fileprivate static func tooLong(_ bytes: Int, promptsItself: Bool) -> AskAnswer {
    guard !promptsItself else { return AskAnswer(ending: .withdrawn) }
    return AskAnswer(
      ending: .denied,
      text: "The tool's input has \(bytes) bytes. A request can show at most "
        + "\(Limits.taskInputBytesMax), and only what is shown can be approved. Use several "
        + "calls."
    )
  }
}

extension DecisionAnswer {
  init(_ answer: AskAnswer, session: SessionID, name: String?) {
    self.init(
      session: session, ending: answer.ending, device: answer.device, deviceName: name,
      text: answer.text.isEmpty ? nil : answer.text)
  }
}

extension DecisionRequest {
  func checkedVerdict() throws -> Verdict {
    let choices = Verdict.allCases.filter { $0 != .closed }
    guard let verdict = choices.first(where: { $0.name == verdict }) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidVerdict",
        message: "There is no verdict \"\(verdict)\": choose from "
          + choices.map(\.name).joined(separator: ", ") + ".", exitCode: ExitStatus.usage)
    }
    guard verdict != .allowed || text?.isEmpty != false else {
      throw APIProblem(
        .unprocessableContent, code: "remarkNotTaken",
        message: "An approval cannot carry a message. Deny with a message instead.",
        exitCode: ExitStatus.usage)
    }
    return verdict
  }
}
