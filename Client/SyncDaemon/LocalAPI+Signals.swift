import Hummingbird
import QueueModel
import SyncClient

extension LocalAPI {
  // MARK: - What agents do

  func addSignalRoutes(to api: RouterGroup<Context>) {
    api.get("activity") { _, _ in
      CanonicalJSON.response(
        ActivitiesAnswer(activities: client.activities().map(ActivityAnswer.init)))
    }
    api.get("sessions/:session/activity") { _, context in
      let session = try session(context)
      guard client.workspace().session(session) != nil else {
        throw QueueError.sessionNotFound(id: session.rawValue)
      }
      var answer = ActivityAnswer(client.activity(of: session))
      answer.task = client.workspace().task(of: session)
      return CanonicalJSON.response(answer)
    }
    api.post("sessions/:session/signals") { request, context in
      let session = try session(context)
      let body = try await decoded(SignalRequest.self, from: request)
      let signal = try body.signal()
      if signal == .wentIdle,
        seats.end(session, with: .died("Its agent waits for its person; no end was told."))
      {
        // What follows from the end of a prompt that was given out sees to the rest.
        return CanonicalJSON.response(ActivityAnswer(client.activity(of: session)))
      }
      let activity = try await client.receive(signal, in: session)
      switch SignalRequest.Kind(rawValue: body.type) {
      case .toolUse:
        await client.noteWentOn(in: session)
        if let name = body.name { await client.noteOperation(name, in: session) }
      case .toolResult, .permissionResponse: await client.noteWentOn(in: session)
      default: break
      }
      return CanonicalJSON.response(ActivityAnswer(activity))
    }
  }
}

/// What an agent or its hook reports.
struct SignalRequest: Codable {
  /// The names of the agents' own events (S0-35 … S0-40), `turn_start` for their beginning, and
  /// `idle` where an agent waits for its person, however its turn ended.
  enum Kind: String, Codable, CaseIterable {
    case turnStart = "turn_start"
    case toolUse = "tool_use"
    case toolResult = "tool_result"
    case permissionRequest = "permission_request"
    case permissionResponse = "permission_response"
    case result
    case error
    case idle
  }

  var type: String
  /// The tool's id, for `tool_use` and `tool_result`.
  var id: String?
  /// The tool's name, for `tool_use`.
  var name: String?
  /// What went wrong, for `error`.
  var message: String?

  func signal() throws -> AgentSignal {
    guard let kind = Kind(rawValue: type) else {
      let names = Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw APIProblem(
        .unprocessableContent, code: "invalidSignal",
        message: "There is no signal \"\(type)\": choose from \(names).", exitCode: 2)
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

/// What a session's agent does.
struct ActivityAnswer: Codable, Equatable, Sendable {
  var session: SessionID
  var busy: Bool
  var isProcessing: Bool
  /// The ids of the tools that run, sorted.
  var runningTools: [String]
  var isPendingApproval: Bool
  /// The failure that nobody dealt with yet; left out where there is none.
  var currentError: ErrorAnswer.Details?
  /// What its host says that it does; where one session is asked for.
  var task: TaskState?

  init(_ activity: SessionActivity) {
    session = activity.session
    busy = activity.busy.isBusy
    isProcessing = activity.busy.isProcessing
    runningTools = activity.busy.runningTools.sorted()
    isPendingApproval = activity.busy.isPendingApproval
    currentError = activity.currentError.map { error in
      let problem = APIProblem(ClientError.queue(error))
      return ErrorAnswer.Details(
        code: problem.code, message: problem.message, exitCode: problem.exitCode)
    }
  }
}

/// `GET /v1/activity`: the sessions whose agents are busy, or failed.
struct ActivitiesAnswer: Codable, Equatable, Sendable {
  var activities: [ActivityAnswer]
}
