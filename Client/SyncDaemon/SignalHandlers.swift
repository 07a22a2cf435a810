import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The activity of agents, as they or their hooks report it.
struct SignalHandlers: RouteHandlers {
  var client: QueueClient
  let slots: HookSlots
  let hooked: HookedAgents

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("activity") { _, _ in
      CanonicalJSON.response(
        ActivitiesAnswer(activities: client.tasks.activities().map(ActivityAnswer.init)))
    }
    api.get("sessions/:session/activity") { _, context in
      let session = try session(context)
      guard client.workspace().session(session) != nil else {
        throw QueueError.sessionNotFound(id: session.rawValue)
      }
      var answer = ActivityAnswer(client.tasks.activity(of: session))
      answer.task = client.workspace().task(of: session).map(TaskStateAnswer.init)
      return CanonicalJSON.response(answer)
    }
    api.post("sessions/:session/signals") { request, context in
      let session = try session(context)
      let body = try await decoded(SignalRequest.self, from: request)
      let signal = try body.signal()
      if signal == .wentIdle,
        slots.end(session, with: .died("The agent waits at its prompt; it reported no end."))
      {
        // The code for the end of the prompt does the rest.
        return CanonicalJSON.response(ActivityAnswer(client.tasks.activity(of: session)))
      }
      let known = client.tasks.activity(of: session)
      // The agent continues by itself when a subagent is done, and others may ask meanwhile.
      if signal == .turnStarted, body.byItself == true, known.busy.isBusy {
        return CanonicalJSON.response(ActivityAnswer(known))
      }
      let goesOn = hooked.goesOn(with: body, signal, in: session)
      guard goesOn || signal != .approvalAnswered() else {
        return CanonicalJSON.response(ActivityAnswer(known))
      }
      let activity = try await client.tasks.receive(signal, in: session)
      switch signal {
      case .toolStarted, .toolEnded, .approvalAnswered:
        if goesOn { await client.tasks.noteResumed(in: session) }
      case .turnStarted, .turnEnded, .turnFailed, .approvalRequested, .wentIdle: break
      }
      if case .toolStarted = signal, let name = body.name {
        await client.tasks.noteOperation(name, in: session)
      }
      return CanonicalJSON.response(ActivityAnswer(activity))
    }
  }
}

extension HookedAgents {
  /// Applies a signal.
  ///
  /// - Returns: whether no request is open now.
  fileprivate func goesOn(
    with body: SignalRequest, _ signal: AgentSignal, in session: SessionID
  ) -> Bool {
    switch signal {
    case .approvalRequested:
      asks(session, agent: body.agent, tool: body.name)
      return false
    case .turnStarted, .toolStarted: return goesOn(session, agent: body.agent)
    case .toolEnded, .approvalAnswered: return goesOn(session, agent: body.agent, tool: body.name)
    case .turnEnded, .turnFailed, .wentIdle:
      ended(session)
      return true
    }
  }
}

extension SignalRequest {
  func signal() throws -> AgentSignal {
    guard let kind = Kind(rawValue: type) else {
      let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw APIProblem(
        .unprocessableContent, code: "invalidSignal",
        message: "There is no signal \"\(type)\": choose from \(names).", exitCode: ExitStatus.usage
      )
    }
    switch kind {
    case .turnStart: return .turnStarted
    case .toolUse: return .toolStarted(id: try toolID())
    case .toolResult: return .toolEnded(id: try toolID())
    case .permissionRequest: return .approvalRequested()
    case .permissionResponse: return .approvalAnswered()
    case .result: return .turnEnded
    case .error: return .turnFailed(message: message ?? "no reason given")
    case .idle: return .wentIdle
    }
  }

  private func toolID() throws -> String {
    guard let id else {
      throw APIProblem.badRequest("The signal \(type) needs the id of the tool's call.")
    }
    return id
  }
}

extension ActivityAnswer {
  init(_ activity: SessionActivity) {
    self.init(
      activity,
      currentError: activity.currentError.map { error in
        let problem = APIProblem(ClientError.queue(error))
        return RefusalAnswer.Details(
          code: problem.code, message: problem.message, exitCode: Int(problem.exitCode))
      })
  }
}
