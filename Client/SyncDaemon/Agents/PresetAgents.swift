import AgentFormats

/// Programs whose command lines and output are known.
///
/// The prompt goes to standard input: it may begin with a hyphen, and be longer than an argument may.
enum PresetAgents {
  /// `claude -p`, one process for each turn.
  ///
  /// - Parameter command: the program with arguments of its own; nil is `claude`.
  static func claude(
    command: String?, timeoutSeconds: Int?
  ) throws(CommandLineFault) -> ProcessAgent<ClaudeReader> {
    let program = try words(command, otherwise: "claude")
    return ProcessAgent(
      commandLine: { turn in
        var words = program + ["-p", "--output-format", "stream-json", "--verbose"]
        if let id = turn.resumed { words += ["--resume", id] }
        // It reads nothing outside its folders without asking.
        if let folder = turn.files?.folder { words += ["--add-dir", folder] }
        return AgentCommandLine(words: words, input: turn.promptWithFiles)
      },
      reader: { _ in ClaudeReader() }, timeoutSeconds: timeoutSeconds)
  }

  /// `codex exec --json`, one process for each turn.
  ///
  /// - Parameter command: the program with arguments of its own; nil is `codex`.
  static func codex(
    command: String?, timeoutSeconds: Int?
  ) throws(CommandLineFault) -> ProcessAgent<CodexReader> {
    let program = try words(command, otherwise: "codex")
    return ProcessAgent(
      commandLine: { turn in
        var words = program + ["exec", "--json"]
        if let id = turn.resumed { words += ["resume", id] }
        // The hyphen has it read the prompt from standard input.
        return AgentCommandLine(words: words + ["-"], input: turn.promptWithFiles)
      },
      reader: { _ in CodexReader() }, timeoutSeconds: timeoutSeconds)
  }

  private static func words(
    _ command: String?, otherwise program: String
  ) throws(CommandLineFault) -> [String] {
    guard let command else { return [program] }
    let words = try CommandWords.split(command)
    guard !words.isEmpty else { throw CommandLineFault(reason: "the command is blank") }
    return words
  }
}

extension AgentTurn {
  /// The conversation to go on with; an id that looks like an option is none.
  var resumed: String? {
    guard let conversation, !conversation.isEmpty, !conversation.hasPrefix("-") else { return nil }
    return conversation
  }
}
