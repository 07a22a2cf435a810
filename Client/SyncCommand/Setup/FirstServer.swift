import AgentFormats
import Basics
import Operations
import Platform

/// The server of this machine: a running one, otherwise one that is started.
struct FirstServer {
  var setup: Setup

  /// The time limit of its commands.
  private static let seconds: Double = 120

  struct Grant: Sendable {
    var server: String
    var code: String
    /// The service that was started for it; nil if it ran already.
    var started: Started?
  }

  struct Started: Sendable {
    var what: String
    /// How to start it after a reboot, if nothing else does.
    var fix: String?
  }

  /// Its address, and a code for this device.
  ///
  /// - Throws: `CommandFailure` if there is no program, or if it does not serve.
  func grant() async throws -> Grant {
    let program = try program()
    if let granted = try await granted(program) { return granted }
    let started = try await start(program, port: setup.command.serverPort)
    guard var granted = try await granted(program) else {
      throw CommandFailure(
        code: "noServer", message: "cospool-server was started but does not answer.",
        exitCode: ExitStatus.unreachable)
    }
    granted.started = started
    return granted
  }

  /// Starts this user's server again if the device is paired with one on this machine that does not
  /// answer, for example after a reboot.
  ///
  /// - Parameter server: the address that the device is paired with.
  /// - Returns: nil if nothing had to be started.
  func resume(_ server: String) async throws -> Started? {
    guard let address = DoctorAddress(server), !address.isSecure,
      ["127.0.0.1", "::1", "localhost"].contains(address.host),
      let data = DataPath.server.resolve(option: nil, environment: setup.variables),
      // A store that was set aside counts, too: the server reports what to do then.
      (try? FileManager.default.contentsOfDirectory(atPath: data))?
        .contains(where: { $0.hasPrefix("cospool.sqlite") }) == true
    else { return nil }
    let probe = ServerProbe(address: address, connectSeconds: 2, checksCertificate: false)
    do {
      _ = try await probe.reply()
      return nil
    } catch {
      guard error.code == "serverPort" else { return nil }
    }
    return try await start(try program(), port: address.port)
  }

  /// Starts this user's service with its options; nil if there is none.
  private func startAgain() async throws -> Started? {
    func systemctl(_ verb: String) async -> ProgramRun? {
      await ProgramRun.run(
        ["systemctl", "--user", verb, "cospool-server.service"], variables: setup.variables,
        seconds: Self.seconds, withErrors: true)
    }
    guard !setup.command.noService, await systemctl("cat")?.status == 0 else { return nil }
    let run = await systemctl("start")
    guard let run, run.status == 0 else {
      throw noServer("Its service did not start. \(run?.output ?? "The command took too long.")")
    }
    return Started(what: "its service, cospool-server.service")
  }

  private func program() throws(CommandFailure) -> String {
    let caller = DoctorCommand.program(setup.variables)
    guard
      let program = ProgramRun.path(of: "cospool-server", beside: caller, in: setup.variables)
    else {
      throw CommandFailure(
        code: "noProgram",
        message: "cospool-server is not installed on this machine. Install it, or use a server "
          + "elsewhere: --server URL --code CODE.", exitCode: ExitStatus.failed)
    }
    return program
  }

  /// nil if no server serves this data.
  private func granted(_ program: String) async throws -> Grant? {
    let run = await ProgramRun.run(
      [program, "pair", "--json"], variables: setup.variables, seconds: Self.seconds)
    if run?.status == ExitStatus.unreachable { return nil }
    guard let run, run.status == 0, let tree = JSONTree(run.output.utf8),
      let code = tree["code"]?.text
    else {
      let said = await ProgramRun.run(
        [program, "pair"], variables: setup.variables, seconds: Self.seconds, withErrors: true)
      throw CommandFailure(
        code: "noCode",
        message: "cospool-server pair printed no code. "
          + (said.flatMap { $0.status == 0 ? nil : $0.output } ?? "Try again."),
        exitCode: ExitStatus.failed)
    }
    return tree["server"]?.text.map { Grant(server: $0, code: code) }
  }

  /// As a service of this user, with the options of an existing one; without systemd as a detached
  /// process.
  private func start(_ program: String, port: Int) async throws -> Started {
    if let service = try await startAgain() { return service }
    let options = ["--port", "\(port)"]
    if !setup.command.noService, await hasSystemd() {
      let run = await ProgramRun.run(
        [program, "service", "install", "--user", "--"] + options, variables: setup.variables,
        seconds: Self.seconds, withErrors: true)
      guard let run, run.status == 0 else {
        throw noServer("Its service did not start. \(run?.output ?? "The command took too long.")")
      }
      return Started(what: "a service, cospool-server.service")
    }
    let log = setup.directory + "/cospool-server.log"
    let process = try DetachedProcess.start(
      [program, "serve"] + options, variables: setup.variables, log: log)
    let limit = ContinuousClock.now + .seconds(Setup.startSeconds)
    while ContinuousClock.now < limit, !process.hasEnded {
      if let line = process.line(holding: "listening on ") {
        let address = line.split(separator: " ").lazy.compactMap { DoctorAddress(String($0)) }.first
        return Started(
          what: "a server, process \(process.id), until the next reboot",
          fix: "Have this run whenever the machine starts: \(Shell.quoted(program)) serve "
            + "--port \(address?.port ?? port)" + dataOption)
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw noServer(process.lastLine.map { "It reports: \($0)" } ?? process.trace)
  }

  /// Included if only a variable names it, since the program that starts the server after a reboot
  /// may not have that variable.
  private var dataOption: String {
    let variables = setup.variables
    let data = DataPath.server.resolve(option: nil, environment: variables)
    let usual = DataPath.server.resolve(
      option: nil, environment: variables["HOME"].map { ["HOME": $0] } ?? [:])
    return data == usual ? "" : data.map { " --data " + Shell.quoted($0) } ?? ""
  }

  private func hasSystemd() async -> Bool {
    let words = ["systemctl", "--user", "daemon-reload"]
    return await ProgramRun.run(words, variables: setup.variables, seconds: Self.seconds)?.status
      == 0
  }

  private func noServer(_ reason: String) -> CommandFailure {
    CommandFailure(
      code: "noServer",
      message:
        "cospool-server does not answer. \(reason)\nTo choose another port: --server-port "
        + "PORT. To use a running server: --server URL --code CODE.",
      exitCode: ExitStatus.unreachable)
  }
}
