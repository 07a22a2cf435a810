import SyncClient

/// The agents that there are, by what the settings call them.
enum AgentCatalog {
  /// - Throws: what a person has to set right.
  static func agent(for settings: AgentSettings) throws -> any Agent {
    switch settings.kind {
    case .none:
      throw CommandLineFault(reason: "no agent is set: cospool config set agent command")
    case .command:
      guard let command = settings.command else {
        throw CommandLineFault(reason: "no command is set: cospool config set command \"…\"")
      }
      return try CommandAgent.agent(command: command, timeoutSeconds: settings.timeoutSeconds)
    }
  }
}
