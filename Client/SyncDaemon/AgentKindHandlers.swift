import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The agent of a session.
struct AgentKindHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("sessions/:session/agent") { _, context in
      let session = try session(context)
      guard client.workspace().session(session) != nil else {
        throw QueueError.sessionNotFound(id: session.rawValue)
      }
      return CanonicalJSON.response(await agent(of: session))
    }
    api.put("sessions/:session/agent") { request, context in
      let body = try await decoded(AgentRequest.self, from: request)
      guard let kind = AgentKind(rawValue: body.agent), kind != .none else {
        let names = AgentKind.allCases.filter { $0 != .none }.map(\.rawValue)
        throw APIProblem(
          .unprocessableContent, code: "invalidAgent",
          message: "There is no agent \"\(body.agent)\": choose from "
            + names.joined(separator: ", ") + ".", exitCode: ExitStatus.usage)
      }
      try checkGives(kind, context)
      try checkHasCommand(kind)
      return try await setAgent(kind, of: try session(context))
    }
    api.delete("sessions/:session/agent") { _, context in
      try checkGives(client.settings.agents.kind, context)
      return try await setAgent(nil, of: try session(context))
    }
  }

  /// - Throws: for an agent that is a command if this device has none for it.
  private func checkHasCommand(_ kind: AgentKind) throws {
    let agents = client.settings.agents
    guard kind == .acp, agents.command == nil || !agents.kind.leavesCommandToACP else { return }
    let fix =
      agents.kind.leavesCommandToACP
      ? "cospool config set command \"gemini --acp\"" : "cospool config set agent acp"
    throw APIProblem(
      .unprocessableContent, code: "invalidAgent",
      message: "This device has no command that speaks the Agent Client Protocol. Set one first: "
        + "\(fix)", exitCode: ExitStatus.usage)
  }

  private func setAgent(_ kind: AgentKind?, of session: SessionID) async throws -> Response {
    let before = await client.execution.agentKinds()[session]
    try await client.execution.setAgentKind(kind, of: session)
    if kind != before {
      await note(
        UndoLabel(kind: .setting, session: session, text: "the agent"), former: before?.rawValue)
    }
    return CanonicalJSON.response(await agent(of: session))
  }

  private func agent(of session: SessionID) async -> AgentAnswer {
    let own = await client.execution.agentKinds()[session]
    let kind = own ?? client.settings.agents.kind
    return AgentAnswer(session: session, agent: kind.rawValue, own: own != nil)
  }
}
