import ArgumentParser
import Basics

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension ServiceCommands {
  /// Starts the daemon anew between two attempts.
  struct Restart: LocalCommand {
    static let configuration = CommandConfiguration(
      abstract: "Start the daemon anew, once what runs has ended.",
      discussion: """
        EXAMPLES
          cospool service restart

        For after an upgrade: no agent is cut off. Nothing begins meanwhile, and
        messages wait; what runs is in cospool overview. A daemon that was started
        by hand is started anew with the options, folder and environment it had,
        and then writes to cospoold.log in its data directory; where the system
        does not tell how it was started (macOS), nothing is done and said so.
        Where this command is broken off, the daemon ends all the same once nothing
        runs; a service starts again by itself.
        Not to wait (agents get agentGrace seconds):
          systemctl --user restart \(SystemdUnit.name)
        """)
    @OptionGroup var options: GlobalOptions

    /// How long the next one may take to answer, in seconds.
    private static let startSeconds = 60

    func run(in environment: Environment) async throws -> String {
      let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
      let connection = environment.connection(directory)
      let before = try await RunningDaemon.of(connection)
      let process = pid_t(clamping: before.processID)
      guard process > 1 else { throw cannotBeTold(before) }
      let isService = try await isOfService(process, in: environment)
      let start = isService ? nil : try DaemonStart(of: before.processID)
      guard kill(process, SIGUSR1) == 0 else { throw cannotBeTold(before) }
      try await waitForEnd(of: process, in: environment)
      if let start {
        _ = try DetachedProcess.start(
          start.command, variables: start.variables, log: directory + "/cospoold.log")
      }
      let after = try await started(after: process, connection)
      if options.json { return ServiceAnswer.object(["processID": after.processID]) }
      return TextStyle.line(
        "restarted: version \(after.version), process \(after.processID)")
    }

    private func cannotBeTold(_ daemon: RunningDaemon.Process) -> CommandFailure {
      CommandFailure(
        code: "noDaemon", message: "Process \(daemon.processID) cannot be told to end.",
        exitCode: ExitStatus.failed)
    }

    /// Whether systemd or launchd started it, and starts the next one.
    private func isOfService(_ process: pid_t, in environment: Environment) async throws -> Bool {
      let words =
        LaunchAgent.isUsed(environment.variables)
        ? ["launchctl", "print", LaunchAgent.target]
        : ["systemctl", "--user", "show", "--property=MainPID", SystemdUnit.name]
      let run = await ProgramRun.run(
        words, variables: environment.variables, seconds: 10, withErrors: false)
      let lines = (run?.output ?? "").split(separator: "\n").map {
        $0.filter { !$0.isWhitespace }.lowercased()
      }
      return lines.contains("mainpid=\(process)") || lines.contains("pid=\(process)")
    }

    private func waitForEnd(of process: pid_t, in environment: Environment) async throws {
      let begin = ContinuousClock.now
      var isTold = false
      while isAlive(process) {
        if !isTold, ContinuousClock.now - begin > .seconds(2) {
          isTold = true
          environment.complain(
            "The daemon ends as soon as nothing runs (cospool overview); nothing begins meanwhile.")
        }
        try await Task.sleep(for: .milliseconds(100))
      }
    }

    /// One that nobody has taken notice of yet has ended, too.
    private func isAlive(_ process: pid_t) -> Bool {
      let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      return kill(process, 0) == 0 && stat?.contains(") Z ") != true
    }

    private func started(
      after process: pid_t, _ connection: DaemonConnection
    ) async throws -> RunningDaemon.Process {
      let limit = ContinuousClock.now + .seconds(Self.startSeconds)
      while ContinuousClock.now < limit {
        if let daemon = try? await RunningDaemon.of(connection), daemon.processID != Int(process) {
          return daemon
        }
        try await Task.sleep(for: .milliseconds(100))
      }
      throw CommandFailure(
        code: "noDaemon",
        message: "The daemon ended, and the next one does not answer. See cospool doctor.",
        exitCode: ExitStatus.unreachable)
    }
  }
}
