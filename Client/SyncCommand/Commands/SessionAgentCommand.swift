import ArgumentParser
import LocalAPI

/// `cospool session agent`
struct SessionAgentCommand: SessionNaming {
  static let configuration = CommandConfiguration(
    commandName: "agent",
    abstract: "Show or set the agent that runs a session on this device.",
    discussion: """
      EXAMPLES
        cospool session agent review
        cospool session agent review codex
        cospool session agent review device

      Agents: command, claude, codex, opencode, acp for a command that speaks the Agent Client
      Protocol, and hooks for an agent that you start yourself (cospool hooks install --feed).
      "device" means the device's setting agent. A session runs on the device that is its host:
      cospool session host.
      """)
  @Argument(help: ArgumentHelp("The session.", valueName: "session"), completion: .sessions)
  var session: String
  @Argument(
    help: "The agent. Default: show the current one.",
    completion: .list(["command", "claude", "codex", "opencode", "acp", "hooks", "device"]))
  var agent: String?
  @OptionGroup var options: GlobalOptions

  mutating func lookUp(in names: SessionNames) throws {
    session = try names.id(of: session)
  }

  func request(input: StandardInput) throws -> APIRequest {
    let path = ["sessions", session, "agent"]
    guard let agent else { return APIRequest(.get, path) }
    if agent == "device" { return APIRequest(.delete, path) }
    return try APIRequest(.put, path, body: AgentRequest(agent: agent))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let shown = try answer.decoded(AgentAnswer.self)
    return TextStyle.line(shown.own ? shown.agent : "\(shown.agent), as the device is set")
  }
}
