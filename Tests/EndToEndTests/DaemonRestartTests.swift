import Foundation
import Testing

extension EndToEnd {
  /// `cospool service restart`: a newer daemon takes over between two attempts.
  @Suite struct DaemonRestartTests {
    private struct Restarted: Decodable {
      var processID: Int32
    }

    @Test func aDaemonRestartsAfterItsAgentsHaveEnded() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s", "other"], on: a)
        let first = try await a.send("s", "stuck here")
        try await bed.eventually("it runs", within: 60) { agent.starts().count == 1 }
        let daemon = try #require(a.daemon)
        let restart = try bed.start("cospool", ["service", "restart", "--json", "--data", a.data])
        _ = try await restart.line(holding: "when no agent is running")
        // It continues, and nothing starts beside it.
        let second = try await a.send("other", "behind it")
        #expect(daemon.exit == nil && agent.ends().isEmpty && agent.starts().count == 1)
        try Data().write(to: URL(filePath: agent.folder + "/go"))
        let output = try await bed.finish(restart, ["service", "restart"])
        let next = try output.decoded(Restarted.self).processID
        bed.atEnd { kill(next, SIGKILL) }
        #expect(try await daemon.ended() == .code(75))
        #expect(next != daemon.id)
        #expect(try await a.message(first).status == "succeeded")
        try await bed.eventually("what waited is done", within: 60) {
          try await a.message(second).status == "succeeded"
        }
        #expect(agent.starts().map(\.attempt) == [1, 1])
      }
    }

    /// A person at a terminal learns within seconds why nothing happens.
    @Test func waitingForADaemonIsReported() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let daemon = try #require(a.daemon)
        daemon.send(SIGSTOP)
        let cospool = try Executables.path(of: "cospool")
        let words = ["-qefc", "'\(cospool)' send -s s slow --data '\(a.data)'", "/dev/null"]
        let command = try bed.launch(
          "/usr/bin/script", words, name: "terminal", environment: ["TERM": "dumb"])
        // A terminal ends lines with CR LF, which `line(holding:)` does not read.
        try await bed.eventually("it says that it waits", within: 60) {
          command.standardOutput.contains("Waiting for the daemon's answer")
        }
        daemon.send(SIGCONT)
        let output = try await bed.finish(command, words).succeeded()
        #expect(output.standardOutput.contains("queued"), "\(output)")
      }
    }

    /// No command finds a daemon without its socket, and none can be started beside it.
    @Test func aDaemonWhoseSocketIsGoneIsNamed() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let daemon = try #require(a.daemon)
        // It is elsewhere if the path of the data directory is long.
        try? FileManager.default.removeItem(atPath: a.data + "/cospool.sock")
        let words = ["--data", a.data]
        let refused = try await bed.run("cospoold", words)
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.standardError.contains("kill \(daemon.id), then"), "\(refused)")
      }
    }

    /// What `cospool setup` and `cospool init` make: otherwise its prompts would get no thread on any
    /// device.
    @Test func aDaemonThatIsStartedByHandIsSetUpAsByInit() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        func start() async throws -> ChildProcess {
          let daemon = try bed.start("cospoold", ["--data", a.data], name: "by hand")
          _ = try await daemon.line(holding: "ready on")
          return daemon
        }
        func stop(_ daemon: ChildProcess) async throws {
          daemon.send(SIGTERM)
          _ = try await daemon.ended()
        }
        let path = a.data + "/config.json"
        let first = try await start()
        try await a.send("by-hand", "text")
        #expect(try await a.cospool("thread", "list", "--all").contains("by-hand"))
        _ = try await bed.run("cospool", ["init", "--data", bed.path("made")]).succeeded()
        #expect(
          try String(contentsOfFile: path, encoding: .utf8)
            == String(contentsOfFile: bed.path("made/config.json"), encoding: .utf8))
        try await stop(first)

        // Settings that somebody has removed since are not written again.
        try FileManager.default.removeItem(atPath: path)
        let second = try await start()
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try await a.cospool("thread", "list").contains("config set queueEnabled on"))
        try await stop(second)
      }
    }

    /// Its options, the folder to which they refer, and its environment.
    @Test func daemonsStartedByHandAreRestartedAlike() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        let daemon = try bed.launch(
          "/bin/sh",
          [
            "-c",
            "cd \"$1\" && exec \"$0\" --data ./a --name '' --name 'odd name' --thread-queue off",
            try Executables.path(of: "cospoold"), bed.directory,
          ], name: "a cospoold", environment: ["COSPOOL_MAX_QUEUE_SIZE": "7"])
        _ = try await daemon.line(holding: "ready on")
        func settings() async throws -> String {
          try await a.cospool("config", "list")
        }
        let before = try await settings()
        #expect(before.contains("odd name"))
        let restart = try bed.start("cospool", ["service", "restart", "--data", a.data])
        #expect(try await daemon.ended() == .code(75))
        let output = try await bed.finish(restart, ["service", "restart"]).succeeded()
        let next = try #require(
          output.standardOutput.firstMatch(of: #/process ([0-9]+), started by hand/#)?.1)
        let process = try #require(pid_t(next))
        bed.atEnd { kill(process, SIGKILL) }
        #expect(try await settings() == before)
      }
    }

    /// If systemd started the daemon, with any unit, systemd starts the next one.
    @Test func aServiceIsLeftToItsManager() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        // As systemd informs its services, systemd.exec(5).
        let daemon = try bed.launch(
          "/bin/sh",
          [
            "-c", "SYSTEMD_EXEC_PID=$$ exec \"$0\" --data \"$1\"",
            try Executables.path(of: "cospoold"), a.data,
          ], name: "a cospoold")
        _ = try await daemon.line(holding: "ready on")
        let restart = try bed.start("cospool", ["service", "restart", "--data", a.data])
        #expect(try await daemon.ended() == .code(75))
        #expect(restart.exit == nil)
        try await a.start()
        let output = try await bed.finish(restart, ["service", "restart"]).succeeded()
        #expect(output.standardOutput.contains("process \(try #require(a.daemon).id)"))
      }
    }

    @Test func aWaitingAttemptCanBeStopped() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: a, settings: ["agentGrace": "0"])
        try await a.send("s", "stuck here")
        try await bed.eventually("it runs", within: 60) { agent.starts().count == 1 }
        let daemon = try #require(a.daemon)
        daemon.send(SIGUSR1)
        _ = try await daemon.line(holding: "when no agent is running")
        daemon.send(SIGTERM)
        #expect(try await daemon.ended() == .code(0))
        #expect(agent.ends().isEmpty)
      }
    }
  }
}
