import ArgumentParser
import Basics
import Operations
import Platform

extension ServiceCommands {
  /// Restarts the daemon between two attempts.
  struct Restart: LocalCommand {
    static let configuration = CommandConfiguration(
      commandName: "restart",
      abstract: "Restart the daemon when running agents have ended.",
      discussion: """
        EXAMPLES
          cospool service restart

        Use this after an upgrade: it interrupts no agent. Meanwhile new messages
        wait; cospool overview shows the running ones. A service, yours or the
        machine's, starts again by itself. This command starts a daemon that you
        started by hand again with the same options, folder and environment, and
        its log goes to cospoold.log in its data directory. If the system does not
        show how the daemon was started (macOS), or it runs in another container,
        the command changes nothing and reports that.
        If you interrupt this command, the daemon still stops when no agent is
        running, and a service still starts again.
        A daemon under systemd before 248, runit, supervisord or a script's loop
        looks as if started by hand. For these use kill -USR1 PROCESS instead (its
        number is in cospool status): the daemon exits with 75 when no agent is
        running, and its manager starts it again.
        To restart without waiting (agents get agentGrace seconds):
          systemctl --user restart \(SystemdUnit.name)
        """)
    @OptionGroup var options: GlobalOptions

    /// The time limit of the next one's answer, in seconds.
    private static let startSeconds = 60
    /// The same if the daemon that was started here has ended.
    private static let otherSeconds = 5

    func run(in environment: Environment) async throws -> String {
      let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
      let connection = environment.connection(directory)
      let before = try await RunningDaemon.here(connection)
      let process = pid_t(clamping: before.processID)
      guard process > 1 else { throw firstOfItsContainer }
      let isService = await isOfService(process, in: environment)
      let start = isService ? nil : try DaemonStart(of: before.processID)
      guard kill(process, SIGUSR1) == 0 else { throw cannotSignal(before) }
      try await waitForEnd(of: process, in: environment)
      let next = try start.map {
        try DetachedProcess.start(
          $0.command, variables: $0.variables, log: directory + "/cospoold.log")
      }
      let after = try await started(after: process, next, connection)
      if options.json { return ServiceAnswer.object(["processID": after.processID]) }
      return TextStyle.line(
        "restarted: version \(after.version), process \(after.processID)"
          + (next.map { Int($0.id) == after.processID ? ", started by hand as before" : "" } ?? ""))
    }

    private var firstOfItsContainer: CommandFailure {
      CommandFailure(
        code: "firstProcess",
        message:
          "The daemon is the first process of this container, which ends with it. To stop it "
          + "when no agent is running: kill -USR1 1. Then start the container again.",
        exitCode: ExitStatus.failed)
    }

    private func cannotSignal(_ daemon: RunningDaemon.Process) -> CommandFailure {
      CommandFailure(
        code: "noDaemon", message: "Cannot signal process \(daemon.processID).",
        exitCode: ExitStatus.failed)
    }

    /// Whether systemd or launchd started it, and starts the next one.
    private func isOfService(_ process: pid_t, in environment: Environment) async -> Bool {
      guard LaunchAgent.isUsed(environment.variables) else {
        return DaemonStart.isOfSystemd(Int(process))
      }
      let run = await ProgramRun.run(
        ["launchctl", "print", LaunchAgent.target], variables: environment.variables, seconds: 10)
      return (run?.output ?? "").split(separator: "\n").contains {
        $0.filter { !$0.isWhitespace } == "pid=\(process)"
      }
    }

    private func waitForEnd(of process: pid_t, in environment: Environment) async throws {
      let begin = ContinuousClock.now
      var isReported = false
      while isAlive(process) {
        if !isReported, ContinuousClock.now - begin > .seconds(2) {
          isReported = true
          environment.complain(
            "The daemon stops when no agent is running (cospool overview). Until then it "
              + "starts no messages.")
        }
        try await Task.sleep(for: .milliseconds(100))
      }
    }

    /// A process that has ended and was not collected yet counts as ended.
    private func isAlive(_ process: pid_t) -> Bool {
      let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      return kill(process, 0) == 0 && stat?.contains(") Z ") != true
    }

    /// - Parameter next: the next one, if this program started it.
    private func started(
      after process: pid_t, _ next: DetachedProcess?, _ connection: DaemonConnection
    ) async throws -> RunningDaemon.Process {
      var limit = ContinuousClock.now + .seconds(Self.startSeconds)
      while ContinuousClock.now < limit {
        if let daemon = try? await RunningDaemon.of(connection), daemon.processID != Int(process) {
          return daemon
        }
        // It may have found one that another program started meanwhile.
        if next?.hasEnded == true { limit = min(limit, .now + .seconds(Self.otherSeconds)) }
        try await Task.sleep(for: .milliseconds(100))
      }
      throw CommandFailure(
        code: "noDaemon",
        message: next.map { "The daemon stopped, and the new one does not answer. \($0.trace)" }
          ?? "The daemon stopped, and its service manager did not start it again. Start it "
          + "there; for details: cospool doctor",
        exitCode: ExitStatus.unreachable)
    }
  }
}
