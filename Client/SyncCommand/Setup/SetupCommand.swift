import ArgumentParser
import Basics
import Operations
import Platform

/// `cospool setup`
struct SetupCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Set this machine up: daemon, server, hooks, and a check of everything.",
    discussion: """
      EXAMPLES
        cospool setup                                        asks for what it needs
        cospool setup --server wss://cospool.example --code BCDF-GHJK
        cospool setup --server-here                          this machine is the server, too
        cospool setup --yes --json                           for scripts: asks nothing
        cospool setup --no-service                           a daemon without systemd

      It prints each step:
        init      the data directory, as cospool init
        daemon    a service that starts it, as cospool service install
        linger    keep the service running without a login (systemd)
        pair      the server, as cospool pair
        hooks     Claude Code and Codex, if installed, as cospool hooks install
        agent     the first of them runs prompts here, as cospool config set agent
        doctor    cospool doctor
      You can run each step by itself. Running setup again is safe.

      Without systemd it shows how to start the daemon. With --no-service or --yes it starts the
      daemon itself, until the next reboot. --server-here needs cospool-server on this machine.

      Exit codes: 0 everything works, 1 a step failed, or doctor found an error.
      """)
  @Flag(name: [.short, .long], help: "Ask nothing, and answer yes to everything.") var yes = false
  @Option(help: ArgumentHelp("ws://host:port or wss://host:port[/folder].", valueName: "url"))
  var server: String?
  @Option(help: "The one-time code that cospool-server pair printed.") var code: String?
  @Flag(help: "Allow unencrypted ws:// outside private networks (anyone in between can read it).")
  var insecure = false
  @Flag(help: "Start a server on this machine if none runs, and pair with it.")
  var serverHere = false
  @Option(help: "The port of the server that --server-here starts.") var serverPort = 7_420
  @Flag(help: "Start the daemon as a process instead of a service.") var noService = false
  @Flag(help: "Do not change the settings of agents.") var noHooks = false
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    guard (server == nil) == (code == nil) else {
      throw ValidationError("--server and --code go together: give both, or neither.")
    }
    if let server, DoctorAddress(server) == nil {
      throw ValidationError("--server: " + Self.wrongAddress(server))
    }
    guard (0...65_535).contains(serverPort) else {
      throw ValidationError("--server-port: choose a port from 0 to 65535.")
    }
    guard server == nil || !serverHere else {
      throw ValidationError(
        "--server uses a server elsewhere, --server-here starts one. Pass one of them.")
    }
  }

  static func wrongAddress(_ text: String) -> String {
    "\(TextStyle.line(text)) is not a server's address. Use wss://HOST, or ws://HOST:PORT in a "
      + "private network."
  }

  func run(in environment: Environment) async throws -> String {
    try await outcome(in: environment).output
  }

  func outcome(in environment: Environment) async throws -> CommandRunner.Outcome {
    var environment = environment
    environment.confirm = environment.accept
    if yes {
      environment.confirm = { _ in true }
      environment.ask = nil
    }
    var setup = Setup(
      command: self, environment: environment,
      directory: Paths.absolute(try environment.dataDirectory(flag: options.data)))
    await setup.run()
    let doctor = try DoctorCommand.parse(
      ["--data", setup.directory] + (options.json ? ["--json"] : []))
    let checked = try await doctor.outcome(in: environment)
    let isWell = checked.exitCode == 0 && !setup.steps.contains { $0.state == .failed }
    guard options.json else {
      return CommandRunner.Outcome(exitCode: isWell ? 0 : ExitStatus.failed, output: checked.output)
    }
    return CommandRunner.Outcome(
      exitCode: isWell ? 0 : ExitStatus.failed,
      output: try setup.json(doctor: checked.output, isWell: isWell))
  }
}

/// One step of `cospool setup`, once it has ended.
struct SetupStep: Equatable, Sendable, Encodable {
  enum State: String, Equatable, Sendable, Encodable {
    /// Something was changed.
    case done
    /// It was done before.
    case unchanged
    /// It was not wanted, or it is not possible here.
    case skipped
    case failed
  }

  var step: String
  var state: State
  var what: String
  /// The advice to the user.
  var fix: String?

  /// As users read it.
  var line: String {
    let mark = state == .failed ? "failed: " : ""
    let padding = String(repeating: " ", count: max(1, 10 - step.count))
    let text = TextStyle.block("\(mark)\(what)").replacing("\n", with: "\n          ")
    let next = fix.map { "\n          " + TextStyle.line($0) } ?? ""
    return step + padding + text + next
  }
}
