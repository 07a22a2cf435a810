import ArgumentParser
import Basics
import LocalAPI
import Operations
import Platform
import ProxyTunnel

/// `cospool service …`
struct ServiceCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service",
    abstract: "Start the daemon automatically, with systemd or launchd.",
    discussion: """
      EXAMPLES
        cospool service install
        cospool service install --dry-run
        cospool service status
        cospool service logs --lines 200
        cospool service restart
        cospool service uninstall

      The daemon runs as a user unit (systemctl --user; on macOS a launch
      agent), for the data directory of --data or the default one. It finds
      agents in the PATH that is set when you install it.
      The queues stay where they are, even if you remove the unit.
      """,
    subcommands: [Install.self, Uninstall.self, Status.self, Logs.self, Restart.self])

  @OptionGroup var options: GlobalOptions

  fileprivate static func home(in environment: Environment) throws(CommandFailure) -> String {
    guard let home = environment.variables["HOME"], home.hasPrefix("/") else {
      throw .usage("HOME is not set, so your folder of launch agents cannot be found. Set it.")
    }
    return home
  }

  /// The unit of this user's service.
  fileprivate static func unit(in environment: Environment) throws(OperationFailure) -> ServiceUnit
  {
    ServiceUnit(
      name: SystemdUnit.name,
      path: try ServiceUnit.usersPath(SystemdUnit.name, environment.variables), isUsers: true,
      command: LaunchAgent.command, variables: environment.variables)
  }

  /// The data directory of the installed service, as its file names it, if it is not this one.
  fileprivate static func otherData(
    _ path: String, than directory: String, in environment: Environment
  ) -> String? {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return nil }
    let variables = environment.variables
    if LaunchAgent.isUsed(variables) {
      let isSame = LaunchAgent.isFile(data, of: directory, variables)
      return isSame ? nil : LaunchAgent.dataDirectory(in: data) ?? Self.usualData
    }
    let text = String(decoding: data, as: UTF8.self)
    let isSame = SystemdUnit.isText(text, of: directory, variables)
    return isSame ? nil : SystemdUnit.dataWord(in: text).map { String($0) } ?? Self.usualData
  }

  /// The description of a service whose file names no directory.
  private static let usualData = "the usual"

  /// The daemon's program, absolute.
  static func daemon(_ variables: [String: String]) throws(CommandFailure) -> String {
    let program = DoctorCommand.program(variables)
    guard let path = ProgramRun.path(of: "cospoold", beside: program, in: variables) else {
      throw CommandFailure(
        code: "noProgram",
        message: "cospoold is neither beside \(program) nor in PATH. Put it there.",
        exitCode: ExitStatus.failed)
    }
    return Paths.absolute(path)
  }

  struct Install: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "install",
      abstract: "Install the unit, start it, and start it at each login.",
      discussion: """
        EXAMPLES
          cospool service install
          cospool service install --data ~/queues --dry-run

        It is safe to run again: a running unit that would not change is left
        alone. If the unit changes, the daemon restarts, and running agents get
        agentGrace seconds. If it does not start, the previous unit is restored.
        A unit for other data is refused: uninstall it first. For a newer
        cospoold: cospool service restart.
        """)
    @Flag(help: "Print the unit and change nothing.") var dryRun = false
    @OptionGroup var options: GlobalOptions

    func run(in environment: Environment) async throws -> String {
      let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
      if LaunchAgent.isUsed(environment.variables) {
        return try await installAgent(directory, in: environment)
      }
      let service = try ServiceCommands.unit(in: environment)
      let path = service.path
      let unit = SystemdUnit(
        program: try ServiceCommands.daemon(environment.variables), dataDirectory: directory,
        searchPath: environment.variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
        proxyVariables: ProxyAddress.variables(of: environment.variables))
      let text = try unit.text()
      if dryRun { return "# \(path)\n\(text)" }
      let isActive = try await service.says("is-active")
      try refuseInThePlaceOf(path, directory, in: environment)
      try await refuseBesideAnother(directory) { isActive && DaemonStart.isOfSystemd($0) }
      if isActive, (try? Data(contentsOf: URL(filePath: path))) == Data(text.utf8) {
        if options.json { return ServiceAnswer.object(["unit": path]) }
        return TextStyle.line("the service is running; nothing changed: \(path)")
      }
      try await service.install(text)
      if options.json { return ServiceAnswer.object(["unit": path]) }
      if DoctorContext.lingers(environment.variables) == true {
        return TextStyle.line("started: \(path)")
      }
      return TextStyle.line("started: \(path)")
        + "\nIt starts at your login. To run it without a login: loginctl enable-linger"
    }

    /// A service for other data would stop, and its messages would keep waiting.
    private func refuseInThePlaceOf(
      _ path: String, _ directory: String, in environment: Environment
    ) throws(CommandFailure) {
      guard let other = ServiceCommands.otherData(path, than: directory, in: environment)
      else { return }
      throw CommandFailure(
        code: "otherData",
        message: "The service serves another data directory: \(other). Each user has one service. "
          + "Remove it first (cospool service uninstall), or start cospoold for \(directory) "
          + "in another way.",
        exitCode: ExitStatus.conflict)
    }

    private func installAgent(
      _ directory: String, in environment: Environment
    ) async throws -> String {
      let agent = LaunchAgent(
        program: try ServiceCommands.daemon(environment.variables), dataDirectory: directory,
        searchPath: environment.variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
        home: try ServiceCommands.home(in: environment),
        proxyVariables: ProxyAddress.variables(of: environment.variables))
      if dryRun { return "<!-- \(LaunchAgent.path(home: agent.home)) -->\n\(agent.text())" }
      try refuseInThePlaceOf(LaunchAgent.path(home: agent.home), directory, in: environment)
      let known = try await LaunchAgent.launchctl(["print", LaunchAgent.target], in: environment)
      try await refuseBesideAnother(directory) { _ in known.status == 0 }
      let path = try await agent.install(wasLoaded: known.status == 0, in: environment)
      return options.json
        ? ServiceAnswer.object(["unit": path]) : TextStyle.line("started: \(path)")
    }

    /// Only its user may stop a daemon that was started by hand.
    ///
    /// - Parameter isService: whether a process belongs to the service that is installed again.
    private func refuseBesideAnother(
      _ directory: String, unless isService: (Int) -> Bool
    ) async throws {
      let connection = DaemonConnection(dataDirectory: directory)
      guard (try? await RunningDaemon.of(connection)) != nil else { return }
      let process = try await RunningDaemon.here(connection).processID
      guard !isService(process) else { return }
      throw CommandFailure(
        code: "daemonRuns",
        message: "Another daemon runs for \(directory), process \(process). Stop it first: "
          + "kill \(process)", exitCode: ExitStatus.conflict)
    }
  }

  struct Uninstall: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "uninstall",
      abstract: "Stop the service and remove its unit; the queues stay.",
      discussion: """
        EXAMPLES
          cospool service uninstall

        Each user has one service. With --data, the service is removed only if it
        serves that data directory.
        """)
    @OptionGroup var options: GlobalOptions

    /// A named data directory means the service of that directory.
    private func refuseOfOtherData(
      _ path: String, in environment: Environment
    ) throws(CommandFailure) {
      guard let data = options.data,
        let other = ServiceCommands.otherData(path, than: Paths.absolute(data), in: environment)
      else { return }
      throw CommandFailure(
        code: "otherData",
        message: "The service serves another data directory: \(other). To remove that service: "
          + "cospool service uninstall",
        exitCode: ExitStatus.conflict)
    }

    func run(in environment: Environment) async throws -> String {
      let isAgent = LaunchAgent.isUsed(environment.variables)
      let path =
        isAgent
        ? LaunchAgent.path(home: try ServiceCommands.home(in: environment))
        : try ServiceCommands.unit(in: environment).path
      try refuseOfOtherData(path, in: environment)
      let isThere =
        isAgent
        ? try await LaunchAgent.uninstall(path, in: environment)
        : try await ServiceCommands.unit(in: environment).uninstall()
      if options.json { return ServiceAnswer.object(["removed": isThere]) }
      return TextStyle.line(
        isThere ? "removed \(path)" : "\(path) does not exist; nothing changed")
    }
  }

  struct Status: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show the state of the service.",
      discussion: """
        EXAMPLES
          cospool service status

        Exit codes: 0 it runs, 1 it does not.
        """)
    @OptionGroup var options: GlobalOptions

    func run(in environment: Environment) async throws -> String {
      try await outcome(in: environment).output
    }

    func outcome(in environment: Environment) async throws -> CommandRunner.Outcome {
      let isActive: Bool
      let text: String
      if LaunchAgent.isUsed(environment.variables) {
        let run = try await LaunchAgent.launchctl(["print", LaunchAgent.target], in: environment)
        (isActive, text) = (run.status == 0 && run.output.contains("state = running"), run.output)
      } else {
        (isActive, text) = try await ServiceCommands.unit(in: environment).status()
      }
      return CommandRunner.Outcome(
        exitCode: isActive ? 0 : ExitStatus.failed,
        output: options.json
          ? ServiceAnswer.object(["active": isActive]) : TextStyle.block(text.trimmedEnd))
    }
  }

  struct Logs: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "logs",
      abstract: "Show the latest log lines of the service.",
      discussion: """
        EXAMPLES
          cospool service logs --lines 200
          journalctl --user --unit \(SystemdUnit.name) --follow
        """)
    @Option(name: [.short, .long], help: "How many lines.") var lines = 50
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard (1...10_000).contains(lines) else {
        throw ValidationError("--lines is between 1 and 10000.")
      }
    }

    func run(in environment: Environment) async throws -> String {
      let log =
        LaunchAgent.isUsed(environment.variables)
        ? try await LaunchAgent.lines(
          lines, home: try ServiceCommands.home(in: environment), in: environment)
        : try await ServiceCommands.unit(in: environment).log(lines: lines)
      let text = TextStyle.block(log)
      return options.json ? ServiceAnswer.object(["log": text]) : text
    }
  }
}

/// Small answers of commands that do not need the daemon.
enum ServiceAnswer {
  static func object<Value: Encodable>(_ members: [String: Value]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(members)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
