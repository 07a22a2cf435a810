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
        // Without permission, it reads nothing outside its folders.
        if let folder = turn.files?.folder { words += ["--add-dir", folder] }
        return AgentCommandLine(words: words, input: turn.promptWithFiles)
      },
      reader: { ClaudeReader(prompt: $0.prompt) }, timeoutSeconds: timeoutSeconds)
  }

  /// `codex exec --json`, one process for each turn.
  ///
  /// - Parameter command: the program with arguments of its own; nil is `codex`. The arguments are
  ///   for `exec`, whether or not they name it.
  static func codex(
    command: String?, timeoutSeconds: Int?
  ) throws(CommandLineFault) -> ProcessAgent<CodexReader> {
    let program = runningExec(try words(command, otherwise: "codex"))
    return ProcessAgent(
      commandLine: { turn in
        var words = program + ["--json"]
        if let id = turn.resumed { words += ["resume", id] }
        // The hyphen makes it read the prompt from standard input.
        return AgentCommandLine(words: words + ["-"], input: turn.promptWithFiles)
      },
      reader: { _ in CodexReader() },
      // "thread/resume failed: failed to resolve rollout path …: file does not exist"
      saysLost: { $0.contains("thread/resume") }, timeoutSeconds: timeoutSeconds)
  }

  /// A command of Codex with `exec` after the program: most options are those of `exec`, and
  /// refused before it. If another program starts Codex under another name, `exec` is appended.
  static func runningExec(_ words: [String]) -> [String] {
    let named = words.firstIndex { word in
      word.split(separator: "/").last?.split(separator: "@").first == "codex"
    }
    let isProgram = words.count < 2 || words[1].hasPrefix("-") || words[1] == "exec"
    let place = named.map { $0 + 1 } ?? (isProgram ? 1 : words.count)
    guard !words[place...].starts(with: ["exec"]) else { return words }
    return Array(words[..<place]) + ["exec"] + words[place...]
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
  /// The conversation to continue; an id that looks like an option is ignored.
  var resumed: String? {
    guard let conversation, !conversation.isEmpty, !conversation.hasPrefix("-") else { return nil }
    return conversation
  }
}
