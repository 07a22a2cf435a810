import AgentFormats
import ArgumentParser
import Basics
import LocalAPI
import Operations
import Platform

/// `cospool hooks`
struct HooksCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hooks",
    abstract: "Manage the hooks in the settings of Claude Code and Codex.",
    discussion: """
      EXAMPLES
        cospool hooks install claude
        cospool hooks install codex --feed
        cospool hooks install claude --approvals
        cospool hooks status
        cospool hooks uninstall claude

      With hooks, an agent that you started yourself reports whether it is busy, needs approval or
      is done. With --feed, it also gets the next prompt of its queue when its turn ends, one for
      each turn. With --approvals, its permission requests first appear on all devices: answer them
      with cospool approve or cospool deny. If no answer comes within --patience seconds, or those
      of the setting approvalPatience, the agent asks at its own prompt.
      """,
    subcommands: [Install.self, Uninstall.self, Status.self])

  @OptionGroup var options: GlobalOptions

  /// The file to change.
  struct FileOptions: ParsableArguments {
    @Flag(help: "Use the settings of the project in the current folder instead of your own.")
    var project = false
    @Option(
      help: ArgumentHelp("Use this settings file.", valueName: "path"), completion: .file())
    var file: String?

    func path(of agent: HookAgent, in environment: Environment) throws -> String {
      if let file { return Paths.absolute(file) }
      if project {
        return agent.projectFile(folder: FileManager.default.currentDirectoryPath)
      }
      guard let path = agent.userFile(environment.variables) else {
        throw CommandFailure.usage(
          "HOME is not set, so your settings cannot be found. Pass --file or --project.")
      }
      return path
    }
  }

  struct Install: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "install",
      abstract: "Install the hooks, and replace Cospool's older ones.",
      discussion: """
        EXAMPLES
          cospool hooks install claude
          cospool hooks install claude --feed --project

        Other hooks stay as they are, and a copy of the file without Cospool's hooks is kept beside
        it. A file with invalid JSON is not changed; the error names the line. The hooks call this
        program by the path that you used: a link stays a link, so upgrades keep working.
        """)
    @Argument(help: "The agent: claude or codex.") var agent: HookAgent
    @Flag(help: "Give the agent the next queued prompt when its turn ends.") var feed = false
    @Flag(help: "Show the agent's permission requests on all devices.") var approvals = false
    @Option(
      help: ArgumentHelp(
        "The seconds that a request waits for an answer, at most 600. Default: the setting "
          + "approvalPatience.",
        valueName: "seconds"))
    var patience: Int?
    @Option(help: ArgumentHelp("The program to run. Default: this one.", valueName: "path"))
    var program: String?
    @OptionGroup var file: FileOptions
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard patience == nil || approvals else {
        throw ValidationError("--patience works only with --approvals. Pass both, or neither.")
      }
    }

    /// The hook's own time limit in seconds, and the agent's limit for the hook, which is greater,
    /// so that the hook is never killed.
    static let seconds = 5
    static let graceSeconds = 5

    /// The options of an installation of the same kind.
    static func options(of commands: [String]) -> [String] {
      (commands.contains { $0.contains(" --feed") } ? ["--feed"] : [])
        + (commands.contains { $0.contains(" --ask") || $0.contains(" --approvals") }
          ? ["--approvals"] : [])
    }

    func run(in environment: Environment) async throws -> String {
      let path = try file.path(of: agent, in: environment)
      let named = program ?? DoctorCommand.program(environment.variables)
      // The agent runs it in the folder in which it works. A plain name is searched for in PATH.
      let program = named.contains("/") ? Paths.absolute(named) : named
      var words = [Shell.quoted(program), "hook", "--timeout", "\(Self.seconds)"]
      if let data = options.data, !data.isEmpty {
        words += ["--data", Shell.quoted(Paths.absolute(data))]
      }
      let command = words.joined(separator: " ")
      let patienceMax = Int(HookApproval.patienceSecondsMax)
      guard patience.map((1...patienceMax).contains) ?? true else {
        throw CommandFailure.usage(
          "--patience is 1 to \(patienceMax) seconds.")
      }
      let handlers = agent.events.map { event in
        let asks = approvals && event == .permissionRequest
        // The agent must not end a hook that waits for the daemon.
        let waiting =
          asks ? (patience ?? patienceMax) + Int(HookApproval.closingSeconds) : 0
        let asking = patience.map { " --approvals \($0)" } ?? " --ask"
        return (
          event: event.rawValue,
          command: command + (feed && event.feeds ? " --feed" : "")
            + (asks ? asking : ""),
          timeout: Self.seconds + Self.graceSeconds + waiting
        )
      }
      guard HookSettings.isOwn(command) else {
        throw CommandFailure.usage("--program \(program): the program must be named cospool.")
      }
      let file = HookFile(path: path)
      let change = try file.change { settings in
        do throws(HookSettings.Fault) {
          try settings.install(handlers)
        } catch {
          throw HooksCommands.unexpected(error, path)
        }
      }
      let isNew = change.isWritten
      let wished = Self.options(of: change.before.installed.map(\.command))
      let others = feed ? feedingFiles(besides: path, in: environment) : []
      if options.json {
        return JSONTree.object([
          "file": .string(path), "changed": .boolean(isNew),
          "feedingToo": .array(others.map { .string($0) }),
        ]).line
      }
      let what = isNew ? "installed in \(path)" : "\(path) has the hooks already; nothing changed"
      let next =
        feed ? "\nTo give queued prompts to these sessions: cospool config set agent hooks" : ""
      let twice = others.map {
        "\n"
          + TextStyle.line(
            "\($0) also gives queued prompts to these sessions; one of the two files is enough")
      }
      let now = Self.options(of: handlers.map(\.command))
      let dropped = wished.filter { !now.contains($0) }.map { "\nas asked, without \($0) now" }
      let missing = HooksCommands.missingProgram(of: [command], environment).map {
        "\n" + TextStyle.line("\($0) is not there")
      }
      return TextStyle.line(what) + (missing ?? "") + (isNew ? "\n" + agent.advice : "") + next
        + dropped.joined() + twice.joined()
    }

    /// Other settings that the agent reads here, the user's or the project's, whose hooks feed it.
    private func feedingFiles(besides path: String, in environment: Environment) -> [String] {
      let person = agent.userFile(environment.variables).map { [$0] } ?? []
      let project = agent.projectFile(folder: FileManager.default.currentDirectoryPath)
      return (person + [project]).filter { other in
        guard other != path, let settings = try? HookFile(path: other).settings() else {
          // The agent cannot read it, either.
          return false
        }
        return settings.installed.contains { $0.command.contains(" --feed") }
      }
    }
  }

  struct Uninstall: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "uninstall",
      abstract: "Remove Cospool's hooks; other hooks stay.",
      discussion: """
        EXAMPLES
          cospool hooks uninstall claude
        """)
    @Argument(help: "The agent: claude or codex.") var agent: HookAgent
    @OptionGroup var file: FileOptions
    @OptionGroup var options: GlobalOptions

    func run(in environment: Environment) async throws -> String {
      let path = try file.path(of: agent, in: environment)
      let file = HookFile(path: path)
      // If there is no file, none is made.
      let change =
        try file.settings().installed.isEmpty
        ? nil
        : file.change { settings in
          do throws(HookSettings.Fault) {
            try settings.uninstall()
          } catch {
            throw HooksCommands.unexpected(error, path)
          }
        }
      let isChanged = change?.isWritten == true
      if options.json {
        return JSONTree.object(["file": .string(path), "changed": .boolean(isChanged)]).line
      }
      return TextStyle.line(
        isChanged ? "removed from \(path)" : "\(path) has no hooks of Cospool; nothing changed")
    }
  }

  struct Status: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show which files have the hooks.",
      discussion: """
        EXAMPLES
          cospool hooks status
          cospool hooks status --json
        """)
    @OptionGroup var options: GlobalOptions

    func run(in environment: Environment) async throws -> String {
      let folder = FileManager.default.currentDirectoryPath
      var lines: [String] = []
      var rows: [JSONTree] = []
      for agent in HookAgent.allCases {
        let person = agent.userFile(environment.variables).map { [$0] } ?? []
        for path in person + [agent.projectFile(folder: folder)] {
          let file = HookFile(path: path)
          guard file.exists else { continue }
          // A file that cannot be read does not affect the others.
          let settings = try? file.settings()
          let installed = settings?.installed ?? []
          let missing = agent.events.filter { event in
            !installed.contains { $0.event == event.rawValue }
          }
          let found = installed.isEmpty ? "none" : missing.isEmpty ? "installed" : "incomplete"
          let state = settings == nil ? "unreadable" : found
          let options = Install.options(of: installed.map(\.command))
          let (feeds, asks) = (options.contains("--feed"), options.contains("--approvals"))
          let missingProgram = HooksCommands.missingProgram(
            of: installed.map(\.command), environment)
          var line = "\(agent.rawValue): \(state)"
          if feeds { line += ", feeding" }
          if asks { line += ", with approvals on all devices" }
          line += ", \(path)"
          if let missingProgram { line += ", but \(missingProgram) does not exist" }
          lines.append(TextStyle.line(line))
          var row: [String: JSONTree] = [
            "agent": .string(agent.rawValue), "file": .string(path), "state": .string(state),
            "feeds": .boolean(feeds), "asks": .boolean(asks),
          ]
          row["missingProgram"] = missingProgram.map { .string($0) }
          rows.append(.object(row))
        }
      }
      if options.json { return JSONTree.object(["files": .array(rows)]).line }
      return lines.isEmpty
        ? "none: install them with cospool hooks install claude" : lines.joined(separator: "\n")
    }
  }

  /// The first program of the commands that cannot be run; nil if there is none.
  private static func missingProgram(of commands: [String], _ environment: Environment) -> String? {
    commands.lazy.compactMap { command -> String? in
      let words = (try? CommandWords.split(command)) ?? []
      let program = words.first { $0 == "cospool" || $0.hasSuffix("/cospool") }
      guard let program, ProgramRun.path(of: program, in: environment.variables) == nil else {
        return nil
      }
      return program
    }.first
  }

  /// A change that would break the file, which was left unchanged.
  private static func unexpected(_ error: HookSettings.Fault, _ path: String) -> CommandFailure {
    CommandFailure(
      code: "invalidSettings",
      message: "\(path) cannot be changed safely: \(error.reason). Put the hooks in by hand.",
      exitCode: ExitStatus.failed)
  }
}
