import ArgumentParser

/// An agent whose settings hold hooks.
enum HookAgent: String, CaseIterable, ExpressibleByArgument {
  case claude, codex

  /// The settings of the person: in the folder that the agent's own variable names, else under their
  /// home folder; nil where there is neither.
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

  /// The settings of one project: of Claude Code those that are the person's own, of Codex those of
  /// everybody who works on it.
  func projectFile(folder: String) -> String {
    switch self {
    case .claude: folder + "/.claude/settings.local.json"
    case .codex: folder + "/.codex/hooks.json"
    }
  }

  /// The events it knows, of those that say something.
  var events: [HookEvent.Name] {
    switch self {
    case .claude: HookEvent.Name.allCases
    case .codex:
      [.sessionStart, .userPromptSubmit, .preToolUse, .permissionRequest, .postToolUse, .stop]
    }
  }

  /// What the person has to do besides.
  var advice: String {
    switch self {
    case .claude: "Sessions that run already take it over with /hooks, or at their next start."
    case .codex: "Codex asks whether to trust new hooks: review them with /hooks."
    }
  }
}
