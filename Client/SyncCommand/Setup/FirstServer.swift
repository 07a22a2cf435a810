import AgentFormats
import Basics

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The server of this machine: one that runs, else one that is started.
struct FirstServer {
  var setup: Setup

  /// How long its commands may take.
  private static let seconds: Double = 120

  struct Grant: Sendable {
    var server: String
    var code: String
    /// What was started for it; nil where it ran.
    var started: String?
  }

  /// Its address, and a code for this device.
  ///
  /// - Throws: `CommandFailure` where there is no program, or it does not serve.
  func grant() async throws -> Grant {
    let caller = DoctorCommand.program(setup.variables)
    guard
      let program = ProgramRun.path(of: "cospool-server", beside: caller, in: setup.variables)
    else {
      throw CommandFailure(
        code: "noProgram",
        message: "There is no cospool-server on this machine. Install it, or name a server "
          + "elsewhere: --server URL --code CODE.", exitCode: ExitStatus.failed)
    }
    if let granted = try await granted(program) { return granted }
    let started = try await start(program)
    guard var granted = try await granted(program) else {
      throw CommandFailure(
        code: "noServer", message: "cospool-server was started, and does not serve.",
        exitCode: ExitStatus.unreachable)
    }
    granted.started = started
    return granted
  }

  /// nil where no server serves these data.
  private func granted(_ program: String) async throws -> Grant? {
    let run = await ProgramRun.run(
      [program, "pair", "--json"], variables: setup.variables, seconds: Self.seconds)
    guard let run, run.status == 0, let tree = JSONTree(run.output.utf8),
      let code = tree["code"]?.text
    else {
      throw CommandFailure(
        code: "noCode",
        message: "cospool-server pair gives no code; see what it says.", exitCode: ExitStatus.failed
      )
    }
    return tree["server"]?.text.map { Grant(server: $0, code: code) }
  }

  /// As a service of this person; without systemd as a process that goes on.
  private func start(_ program: String) async throws -> String {
    let options = ["--port", "\(setup.command.serverPort)"]
    if !setup.command.noService {
      let run = await ProgramRun.run(
        [program, "service", "install", "--user", "--"] + options, variables: setup.variables,
        seconds: Self.seconds, withErrors: true)
      if run?.status == 0 { return "a service, cospool-server.service" }
    }
    let log = setup.directory + "/cospool-server.log"
    let process = try DetachedProcess.start(
      [program, "serve"] + options, variables: setup.variables, log: log)
    let limit = ContinuousClock.now + .seconds(Setup.startSeconds)
    while ContinuousClock.now < limit, !process.hasEnded {
      if process.wrote("listening on ") {
        return "a server, process \(process.id), until the next reboot"
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw CommandFailure(
      code: "noServer", message: "cospool-server does not serve. \(process.trace)",
      exitCode: ExitStatus.unreachable)
  }
}
