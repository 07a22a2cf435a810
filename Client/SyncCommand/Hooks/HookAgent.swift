import ArgumentParser

/// An agent whose settings hold hooks.
enum HookAgent: String, CaseIterable, ExpressibleByArgument {
  case claude, codex

  /// The settings of the user: in the folder that the agent's own variable names, otherwise in
  /// their home folder; nil if there is neither.
  func userFile(_ variables: [String: String]) -> String? {
    let (variable, folder, name) =
      switch self {
      case .claude: ("CLAUDE_CONFIG_DIR", "/.claude", "/settings.json")
      case .codex: ("CODEX_HOME", "/.codex", "/hooks.json")
      }
    func absolute(_ name: String) -> String? {
      variables[name].flatMap { $0.hasPrefix("/") ? Paths.absolute($0) : nil }
    }
    return (absolute(variable) ?? absolute("HOME").map { $0 + folder }).map { $0 + name }
  }

  /// The settings of one project: for Claude Code those of the user, for Codex those of all who
  /// work on it.
  func projectFile(folder: String) -> String {
    switch self {
    case .claude: folder + "/.claude/settings.local.json"
    case .codex: folder + "/.codex/hooks.json"
    }
  }

  /// The relevant events that it knows.
  var events: [HookEvent.Name] {
    switch self {
    case .claude: HookEvent.Name.allCases
    case .codex:
      [.sessionStart, .userPromptSubmit, .preToolUse, .permissionRequest, .postToolUse, .stop]
    }
  }

  /// The further steps for the user.
  var advice: String {
    switch self {
    case .claude: "Running sessions apply it after /hooks, or at their next start."
    case .codex: "Codex asks whether to trust new hooks: review them with /hooks."
    }
  }
}
