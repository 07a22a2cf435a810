import ArgumentParser

/// An agent whose settings hold hooks.
enum HookAgent: String, CaseIterable, ExpressibleByArgument {
  case claude, codex

  /// The settings of the person, under their home folder.
  func userFile(home: String) -> String {
    switch self {
    case .claude: home + "/.claude/settings.json"
    case .codex: home + "/.codex/hooks.json"
    }
  }

  /// The settings of one project, for everybody who works on it.
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
