import ArgumentParser
import Basics
import LocalAPI
import Operations
import Platform
import QueueModel

/// The steps of `cospool setup`, one after the other. After a failed step the next ones still do
/// what they can.
struct Setup {
  var command: SetupCommand
  var environment: Environment
  /// The daemon's data directory, absolute.
  var directory: String
  private(set) var steps: [SetupStep] = []

  /// The time limit of the first answer after a daemon or server was started.
  static let startSeconds: Double = 60
  /// The time limit of the first exchange with the server.
  static let syncSeconds: Double = 15

  init(command: SetupCommand, environment: Environment, directory: String) {
    self.command = command
    self.environment = environment
    self.directory = directory
  }

  var variables: [String: String] { environment.variables }

  private var connection: DaemonConnection { DaemonConnection(dataDirectory: directory) }

  mutating func run() async {
    await step("init") { try $0.initialise() }
    if let silent = await silentDaemon() {
      finish(SetupStep(step: "daemon", state: .failed, what: silent.what, fix: silent.fix))
    } else {
      await step("daemon") { try await $0.startDaemon() }
      if let linger = await linger() { finish(linger) }
      if steps.contains(where: { $0.step == "daemon" && $0.state == .failed }) {
        finish(
          SetupStep(
            step: "pair", state: .skipped,
            what: "the device cannot be paired until the daemon runs", fix: Setup.later))
      } else {
        await step("pair") { try await $0.pair() }
      }
    }
    for agent in HookAgent.allCases {
      await step("hooks") { try await $0.hooks(of: agent) }
    }
    guard !steps.contains(where: { $0.step == "daemon" && $0.state == .failed }) else { return }
    await step("agent") { try await $0.agent() }
  }

  private mutating func step(
    _ name: String, _ body: (Setup) async throws -> SetupStep
  ) async {
    do {
      finish(try await body(self))
    } catch {
      finish(
        SetupStep(
          step: name, state: .failed, what: CommandRunner.failure(of: error).message))
    }
  }

  private mutating func finish(_ step: SetupStep) {
    steps.append(step)
    if !command.options.json { environment.tell(step.line) }
  }

  // MARK: Data directory and daemon

  private func initialise() throws -> SetupStep {
    let isNew = try InitCommand.prepare(directory)
    return SetupStep(
      step: "init", state: isNew ? .done : .unchanged,
      what: isNew ? "created \(directory) and turned the thread queue on" : "\(directory) exists")
  }

  private func status(
    within seconds: Double = APIRequest.timeoutSecondsDefault
  ) async throws -> StatusAnswer {
    var request = APIRequest(.get, ["status"])
    request.timeoutSeconds = seconds
    return try await connection.answer(to: request).decoded(StatusAnswer.self)
  }

  /// A daemon that hangs: every step that asks it would wait a minute in vain. nil if it answers,
  /// and if none listens, since one may be about to start. It gets more time than for doctor, which
  /// continues after a failure.
  private func silentDaemon() async -> SilentDaemon? {
    do {
      _ = try await RunningDaemon.of(
        connection, within: 4 * environment.doctorLimits.daemonSeconds)
      return nil
    } catch {
      guard (error as? CommandFailure)?.code == "timeout" else { return nil }
      return await connection.silent(variables)
    }
  }

  private func startDaemon() async throws -> SetupStep {
    if let running = try? await RunningDaemon.of(connection) {
      return SetupStep(
        step: "daemon", state: .unchanged, what: "process \(running.processID) is running")
    }
    guard !command.noService else { return try await startDetached() }
    let install = try ServiceCommands.Install.parse(["--data", directory])
    do {
      let text = try await install.run(in: environment)
      _ = try await answering()
      let first = text.split(separator: "\n").first.map(String.init) ?? text
      return SetupStep(step: "daemon", state: .done, what: "a service, \(first)")
    } catch {
      let failure = CommandRunner.failure(of: error)
      guard ["noSystemd", "systemd"].contains(failure.code) else { throw failure }
      let fix =
        "Have this run whenever the machine starts: cospoold --data \(Shell.quoted(directory))"
      guard environment.confirm?("No service: \(failure.message)\nStart the daemon now?") == true
      else {
        let now = environment.confirm == nil ? "Start it now: cospool setup --no-service. " : ""
        return SetupStep(step: "daemon", state: .failed, what: failure.message, fix: now + fix)
      }
      var step = try await startDetached()
      step.fix = fix
      return step
    }
  }

  private func startDetached() async throws -> SetupStep {
    let program = try ServiceCommands.daemon(variables)
    let log = directory + "/cospoold.log"
    let process = try DetachedProcess.start(
      [program, "--data", directory], variables: variables, log: log)
    _ = try await answering(process)
    return SetupStep(
      step: "daemon", state: .done,
      what: "started, process \(process.id), until the next reboot; its log is \(log)")
  }

  private func answering(_ process: DetachedProcess? = nil) async throws -> StatusAnswer {
    let limit = ContinuousClock.now + .seconds(Self.startSeconds)
    while ContinuousClock.now < limit {
      let left = (limit - .now) / .seconds(1)
      if let status = try? await status(within: max(left, 1)) { return status }
      if let process, process.hasEnded { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw CommandFailure(
      code: "noDaemon",
      message: "The daemon does not answer. " + (process?.trace ?? "See cospool service logs."),
      exitCode: ExitStatus.unreachable)
  }

  /// A service of systemd ends with the last login unless its user lingers; nil if that does not
  /// matter here.
  private func linger() async -> SetupStep? {
    guard steps.last?.what.hasPrefix("a service") == true,
      let program = ProgramRun.path(of: "loginctl", in: variables),
      DoctorContext.lingers(variables) == false
    else { return nil }
    let fix = "loginctl enable-linger"
    guard environment.confirm?("Keep it running without a login, too (\(fix))?") == true else {
      return SetupStep(
        step: "linger", state: .skipped, what: "the service ends when you log out", fix: fix)
    }
    let run = await ProgramRun.run(
      [program, "enable-linger"], variables: variables, seconds: 30, withErrors: true)
    guard run?.status == 0 else {
      return SetupStep(
        step: "linger", state: .failed, what: "the service ends when you log out",
        fix: "As root: \(fix) \(variables["USER"] ?? "")")
    }
    return SetupStep(step: "linger", state: .done, what: "the service runs without a login")
  }

  // MARK: The server

  private static let later = "cospool pair URL CODE, with a code that cospool-server pair prints."

  private func pair() async throws -> SetupStep {
    let status = try await status()
    if let server = status.sync.server, command.server.map({ isSame($0, server) }) ?? true {
      let started = command.serverHere ? try await FirstServer(setup: self).resume(server) : nil
      guard let started else {
        return SetupStep(step: "pair", state: .unchanged, what: "paired with \(server)")
      }
      // The daemon would wait a while before its next attempt.
      _ = try? await connection.answer(to: APIRequest(.post, ["sync", "now"]))
      return SetupStep(
        step: "pair", state: .done,
        what: "started \(started.what); paired with \(server)" + (try await agreement()),
        fix: started.fix)
    }
    if let server = command.server, let code = command.code {
      return try await paired(server, code)
    }
    if command.serverHere { return try await pairedHere() }
    guard let ask = environment.ask, let url = serverAsked(ask), !url.isEmpty else {
      return SetupStep(
        step: "pair", state: .skipped, what: "no server: the queues stay on this device",
        fix: Setup.later)
    }
    if url.lowercased() == "here" { return try await pairedHere() }
    guard let code = ask("Code (cospool-server pair prints one on the server): "), !code.isEmpty
    else {
      return SetupStep(step: "pair", state: .skipped, what: "no code", fix: Setup.later)
    }
    return try await paired(url, code)
  }

  /// The typed address; a wrong one is refused at once, before anything else is asked.
  private func serverAsked(_ ask: (String) -> String?) -> String? {
    while let url = ask("Server (wss://host, \"here\" to start one, or Enter for none): ") {
      if url.isEmpty || url.lowercased() == "here" || DoctorAddress(url) != nil { return url }
      environment.tell(SetupCommand.wrongAddress(url))
    }
    return nil
  }

  /// Whether a typed address is the stored one, which names its port.
  private func isSame(_ typed: String, _ stored: String) -> Bool {
    let address = DoctorAddress(typed)
    return address != nil && address == DoctorAddress(stored)
  }

  private func pairedHere() async throws -> SetupStep {
    let grant = try await FirstServer(setup: self).grant()
    var step = try await paired(grant.server, grant.code)
    if let started = grant.started {
      step.what = "started \(started.what); \(step.what)"
      step.fix = started.fix
    }
    return step
  }

  private func paired(_ server: String, _ code: String) async throws -> SetupStep {
    let body = PairServerRequest(
      server: server, code: code, insecure: command.insecure ? true : nil)
    let result = try await connection.answer(to: APIRequest(.post, ["pair"], body: body))
      .decoded(PairingAnswer.self)
    return SetupStep(
      step: "pair", state: .done,
      what: "paired with \(result.server), workspace \(result.workspaceName)"
        + (try await agreement()))
  }

  /// Waits for the first exchange, and returns whether there was one.
  private func agreement() async throws -> String {
    var wait = try APIRequest(
      .post, ["sync", "wait"], body: WaitRequest(timeoutSeconds: Self.syncSeconds))
    wait.timeoutSeconds = Self.syncSeconds + APIRequest.timeoutSecondsDefault
    let isInSync = (try? await connection.answer(to: wait)) != nil
    return isInSync ? ", in sync" : ", not in sync yet"
  }

  // MARK: Agents

  private func hooks(of agent: HookAgent) async throws -> SetupStep {
    func step(_ state: SetupStep.State, _ what: String, fix: String? = nil) -> SetupStep {
      SetupStep(step: "hooks", state: state, what: what, fix: fix)
    }
    let name = agent.rawValue
    guard ProgramRun.path(of: name, in: variables) != nil else {
      return step(.skipped, "no \(name) in PATH")
    }
    guard !command.noHooks else {
      return step(.skipped, "the settings of \(name) were not changed")
    }
    guard let path = agent.userFile(variables) else { return step(.skipped, "HOME is not set") }
    let installed = try HookFile(path: path).settings().installed
    let isComplete = agent.events.allSatisfy { event in
      installed.contains { $0.event == event.rawValue }
    }
    guard !isComplete else { return step(.unchanged, "\(name) has the hooks: \(path)") }
    let again = HooksCommands.Install.options(of: installed.map(\.command))
    let fix = (["cospool hooks install", name] + again).joined(separator: " ")
    guard
      environment.confirm?(
        "Install hooks for \(name), so that Cospool can show what it is doing (in \(path))?")
        == true
    else {
      return step(.skipped, "\(name) has no hooks", fix: fix)
    }
    let install = try HooksCommands.Install.parse(
      [name] + again + Paths.dataOption(directory, variables))
    let text = try await install.run(in: environment)
    return step(.done, "\(name): " + text.replacing("\n", with: ". "))
  }

  /// The agent that runs the prompts of the sessions that a user assigns to this device.
  private func agent() async throws -> SetupStep {
    func step(_ state: SetupStep.State, _ what: String, fix: String? = nil) -> SetupStep {
      SetupStep(step: "agent", state: state, what: what, fix: fix)
    }
    let path = ["settings", "agent"]
    let now = try await connection.answer(to: APIRequest(.get, path)).decoded(SettingAnswer.self)
    guard case .string(let kind)? = now.value, kind == "none" else {
      return step(.unchanged, "this device has an agent that runs prompts")
    }
    let installed = HookAgent.allCases.filter {
      ProgramRun.path(of: $0.rawValue, in: variables) != nil
    }
    for agent in installed {
      let name = agent.rawValue
      guard environment.confirm?("Run prompts with \(name) on this device?") == true else {
        continue
      }
      let request = try APIRequest(.put, path, body: SettingRequest(value: .string(name)))
      _ = try await connection.answer(to: request)
      return step(
        .done, "\(name) runs the prompts of the sessions that you assign to this device",
        fix: "cospool session host SESSION this")
    }
    return step(
      .skipped, "no agent runs prompts on this device",
      fix: "cospool config set agent claude; or codex, opencode, acp, command.")
  }

  // MARK: The report

  /// - Parameter doctor: the output of `cospool doctor --json`.
  func json(doctor: String, isWell: Bool) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(steps), as: UTF8.self)
    return #"{"doctor":\#(doctor),"ok":\#(isWell),"steps":\#(text)}"#
  }
}
