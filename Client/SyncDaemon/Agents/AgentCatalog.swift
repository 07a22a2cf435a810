import AgentFormats
import Foundation
import SyncClient

extension AgentKind {
  /// Whether the setting `command` may be a program that speaks the Agent Client Protocol, if this is
  /// the device's agent.
  var leavesCommandToACP: Bool { [.none, .hooks, .acp].contains(self) }
}

/// The available agents, by their names in the settings.
enum AgentCatalog {
  /// - Throws: an error that a user can correct.
  static func agent(
    _ kind: AgentKind, _ settings: AgentSettings, _ slots: HookSlots,
    environment: [String: String], ask: @escaping OpencodeAgent.Asker
  ) throws -> any Agent {
    // The device's command belongs to the device's agent.
    let command = kind == settings.kind ? settings.command : nil
    let timeout = settings.timeoutSeconds
    switch kind {
    case .none:
      throw CommandLineFault(reason: "no agent is set up: cospool config set agent command")
    case .command:
      // The program of another kind of agent is not a command that takes a prompt as an argument.
      let isItsOwn = [.none, .hooks, .command].contains(settings.kind)
      guard isItsOwn, let command = settings.command else {
        throw CommandLineFault(reason: "no command is set: cospool config set command \"…\"")
      }
      return try CommandAgent.agent(command: command, timeoutSeconds: timeout)
    case .claude:
      return try PresetAgents.claude(command: command, timeoutSeconds: timeout)
    case .codex:
      return try PresetAgents.codex(command: command, timeoutSeconds: timeout)
    case .opencode:
      var agent = try OpencodeAgent(
        address: command, timeoutSeconds: timeout, environment: environment)
      agent.ask = ask
      return agent
    case .acp:
      // An agent that takes a prompt on its input, and speaks no protocol, is refused, too.
      guard settings.kind.leavesCommandToACP else {
        throw CommandLineFault(
          reason: "the command of this device is for its agent \(settings.kind.rawValue), so no "
            + "session can use acp: cospool config set agent acp")
      }
      return try ACPAgent(command: settings.command, timeoutSeconds: timeout, ask: ask)
    case .hooks:
      return LiveAgent(slots: slots)
    }
  }
}
