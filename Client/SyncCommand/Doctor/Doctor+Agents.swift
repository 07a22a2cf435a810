import AgentFormats
import Basics
import Operations
import Platform

/// The agents of this machine, and their hooks.
extension Doctor {
  static let agentChecks: [Check] =
    [.local("agent", agent)]
    + ["claude", "codex", "opencode"].map { name in
      Check(code: "agent.\(name)") { context in await version(of: name, context) }
    }
    + HookAgent.allCases.map { agent in
      .local("hooks.\(agent.rawValue)") { context in hooks(of: agent, context) }
    } + [.local("mcp", mcp)]

  /// The agent that runs messages here, and whether it is available.
  private static func agent(_ context: DoctorContext) -> [DoctorFinding] {
    let kind = context.settings["agent"]?.text ?? "none"
    let command = context.settings["command"]?.text
    let words = command.flatMap { try? CommandWords.split($0) } ?? []
    let program: String
    switch kind {
    case "none":
      return [
        .info(
          "agent", "this device has no agent that runs messages",
          fix: "cospool config set agent claude; or codex, opencode, acp, command.")
      ]
    case "command", "acp":
      guard let first = words.first else {
        let example = kind == "acp" ? "PROGRAM --acp" : "PROGRAM {}"
        return [
          .error("agent", "no command is set", fix: "cospool config set command \"\(example)\"")
        ]
      }
      program = first
    case "claude", "codex": program = words.first ?? kind
    default: return [.ok("agent", kind)]
    }
    guard let path = ProgramRun.path(of: program, in: context.variables) else {
      if program.contains("/") { return [unusable(program, of: kind)] }
      return [
        .error(
          "agent", "the agent \(kind) runs \(program), which is not in PATH: messages will fail",
          fix: "Install it, or set its path: cospool config set command \"/PATH/\(program)\"")
      ]
    }
    return [.ok("agent", "\(kind): \(path)")]
  }

  /// About a program that is named by its path.
  private static func unusable(_ program: String, of kind: String) -> DoctorFinding {
    let what = "the agent \(kind) runs \(program), which "
    guard FileManager.default.fileExists(atPath: program) else {
      return .error(
        "agent", what + "does not exist: messages will fail",
        fix: "Install it there, or name its path: cospool config set command")
    }
    return .error(
      "agent", what + "may not be run: messages will fail",
      fix: "chmod +x \(Shell.quoted(program))")
  }

  private static func version(of name: String, _ context: DoctorContext) async -> [DoctorFinding] {
    guard let path = ProgramRun.path(of: name, in: context.variables) else { return [] }
    let run = await ProgramRun.run(
      [path, "--version"], variables: context.variables, seconds: context.limits.versionSeconds)
    guard let run, run.status == 0 else {
      return [
        .warning(
          "agent.\(name)", "\(path) does not report its version",
          fix: "Run \(Shell.quoted(path)) --version to see the error; then install the agent again."
        )
      ]
    }
    let version = run.output.split(separator: "\n").first.map(String.init) ?? "no version"
    return [.ok("agent.\(name)", "\(path): \(version)")]
  }

  private static func hooks(of agent: HookAgent, _ context: DoctorContext) -> [DoctorFinding] {
    let code = "hooks.\(agent.rawValue)"
    guard let path = agent.userFile(context.variables), HookFile(path: path).exists else {
      return []
    }
    let installed: [(event: String, command: String)]
    do {
      installed = try HookFile(path: path).settings().installed
    } catch {
      let reason = CommandRunner.failure(of: error).message
      return [
        .error(code, reason, fix: "Correct \(path); \(agent.rawValue) cannot read it either.")
      ]
    }
    guard !installed.isEmpty else {
      return [
        .info(
          code, "\(path) has no hooks", fix: "cospool hooks install \(Shell.quoted(agent.rawValue))"
        )
      ]
    }
    let again =
      (["cospool hooks install", agent.rawValue]
      + HooksCommands.Install.options(of: installed.map(\.command))).joined(separator: " ")
    let missing = agent.events.map(\.rawValue).filter { event in
      !installed.contains { $0.event == event }
    }
    var findings = Set(installed.map(\.command)).sorted().compactMap { command in
      problem(of: command, context).map { DoctorFinding.error(code, "\(path): \($0)", fix: again) }
    }
    if findings.count > 1 { findings.removeLast(findings.count - 1) }
    if !missing.isEmpty {
      findings.append(
        .warning(code, "\(path) has no hook for \(missing.joined(separator: ", "))", fix: again))
    }
    return findings.isEmpty ? [.ok(code, path)] : findings
  }

  /// Why a hook's command does not reach this program; nil if it does.
  private static func problem(of command: String, _ context: DoctorContext) -> String? {
    let words = (try? CommandWords.split(command)) ?? []
    guard let place = words.firstIndex(where: { $0 == "cospool" || $0.hasSuffix("/cospool") })
    else { return nil }
    let program = words[place]
    guard let path = ProgramRun.path(of: program, in: context.variables) else {
      return "its hooks run \(program), which does not exist"
    }
    guard Paths.resolved(path) == Paths.resolved(context.program) else {
      return "its hooks run another cospool: \(path)"
    }
    if let option = words.firstIndex(of: "--data"), option + 1 < words.count,
      Paths.absolute(words[option + 1]) != Paths.absolute(context.dataDirectory)
    {
      return "its hooks report to another daemon: --data \(words[option + 1])"
    }
    return nil
  }

  /// Claude Code's list of MCP servers.
  private static func mcp(_ context: DoctorContext) -> [DoctorFinding] {
    guard ProgramRun.path(of: "claude", in: context.variables) != nil, let home = context.home
    else { return [] }
    let folder = context.variables["CLAUDE_CONFIG_DIR"] ?? home
    let tree = context.bytes(of: folder + "/.claude.json").flatMap { JSONTree($0) }
    let add = "claude mcp add --scope user cospool -- \(Shell.quoted(context.program)) mcp"
    guard let entry = tree?["mcpServers"]?["cospool"] else {
      return [
        .info("mcp", "Claude Code has no MCP server named cospool for all projects", fix: add)
      ]
    }
    let program = entry["command"]?.text ?? ""
    guard let path = ProgramRun.path(of: program, in: context.variables) else {
      return [
        .error(
          "mcp", "Claude Code's MCP server cospool runs \(program), which does not exist",
          fix: "claude mcp remove cospool, then \(add)")
      ]
    }
    guard entry["args"]?.elements.contains(where: { $0.text == "mcp" }) == true else {
      return [
        .error(
          "mcp", "Claude Code's MCP server cospool does not run cospool mcp",
          fix: "claude mcp remove cospool, then \(add)")
      ]
    }
    return [.ok("mcp", path)]
  }
}
