import Foundation
import LocalAPI
import QueueModel
import Testing

extension EndToEnd {
  /// `cospool setup` with real daemons and servers.
  @Suite struct SetupTests {
    private struct Report: Decodable {
      struct Step: Decodable, Equatable {
        var step: String
        var state: String
        var what: String
        var fix: String?
      }
      var steps: [Step]
      var ok: Bool

      func step(_ name: String) -> Step? { steps.first { $0.step == name } }
    }

    /// A user's machine: a home, and a folder of programs that is the whole PATH.
    private struct Person {
      let bed: TestBed
      var home: String { bed.path("home") }
      var programs: String { bed.path("programs") }
      var data: String { home + "/.local/share/cospool" }

      init(_ bed: TestBed) throws {
        self.bed = bed
        for folder in [home, programs] {
          try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        }
        // Programs that continue by themselves are not children of the test.
        bed.atEnd {
          for name in ["cospool", "cospool-server"] {
            let text = try? String(contentsOfFile: bed.path("started-" + name), encoding: .utf8)
            let id = text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            if let id { kill(id, SIGKILL) }
          }
        }
      }

      func program(_ name: String, _ script: String) throws {
        let path = programs + "/" + name
        try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
      }

      func cospool(_ arguments: String...) async throws -> Output {
        let process = try bed.launch(
          try Executables.path(of: "cospool"), arguments, name: "cospool",
          environment: ["HOME": home, "PATH": programs, "USER": "ada"])
        return try await bed.finish(process, arguments)
      }

      /// Runs it, and records what it started.
      func setup(_ arguments: String...) async throws -> (Output, Report) {
        let words = ["setup", "--json", "--yes"] + arguments
        let process = try bed.launch(
          try Executables.path(of: "cospool"), words, name: "cospool",
          environment: ["HOME": home, "PATH": programs, "USER": "ada"])
        let output = try await bed.finish(process, words, within: 200)
        let report: Report = try output.decoded()
        for (step, name) in [("daemon", "cospool"), ("pair", "cospool-server")] {
          if let id = report.step(step)?.what.firstMatch(of: #/process ([0-9]+)/#)?.1 {
            try String(id).write(
              toFile: bed.path("started-" + name), atomically: true, encoding: .utf8)
          }
        }
        return (output, report)
      }
    }

    @Test func oneCommandSetsAMachineUpAndCanBeRepeated() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let person = try Person(bed)
        try person.program("claude", "echo 1.0.0")
        let code = try await server.code()
        let words = (server.url, code)
        let (output, report) = try await person.setup(
          "--no-service", "--server", words.0, "--code", words.1)
        #expect(output.isSuccess && report.ok, "\(output)")
        for name in ["init", "daemon", "pair", "hooks"] {
          #expect(report.step(name)?.state == "done", "\(output)")
        }
        #expect(report.step("pair")?.what.contains("in sync") == true, "\(output)")
        let settings = try String(
          contentsOfFile: person.home + "/.claude/settings.json", encoding: .utf8)
        #expect(settings.contains("cospool") && settings.contains("hook"))
        let status: LocalAPI.StatusAnswer = try await person.cospool("status", "--json")
          .succeeded().decoded()
        #expect(status.sync.state == .connected)
        _ = try await person.cospool("send", "-s", "s", "a first prompt").succeeded()

        // The code is used up; the same command changes nothing and succeeds.
        let (again, second) = try await person.setup(
          "--no-service", "--server", words.0.uppercased() + "/", "--code", words.1)
        #expect(again.isSuccess, "\(again)")
        #expect(
          second.steps.allSatisfy { ["unchanged", "skipped"].contains($0.state) }, "\(again)")
        let after: LocalAPI.StatusAnswer = try await person.cospool("status", "--json")
          .succeeded().decoded()
        #expect(after.daemon.processID == status.daemon.processID)
        #expect(
          try String(contentsOfFile: person.home + "/.claude/settings.json", encoding: .utf8)
            == settings)
        let log = try FileManager.default.attributesOfItem(atPath: person.data + "/cospoold.log")
        #expect((log[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      }
    }

    // I-35
    @Test func threeCommandsRunAFirstPrompt() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        let answer =
          #"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"hello"}"#
        try person.program(
          "claude", "[ \"$1\" = --version ] && echo 1.0.0 && exit\necho '\(answer)'")
        let (output, report) = try await person.setup("--no-service")
        #expect(output.isSuccess && report.step("agent")?.state == "done", "\(output)")
        let sent = try await person.cospool("send", "-s", "s", "a first prompt").succeeded()
        let mend = "cospool session host s this"
        #expect(sent.standardError.contains(mend), "\(sent)")
        _ = try await person.cospool("session", "host", "s", "this").succeeded()
        try await bed.eventually("the prompt has run", within: 60) {
          try await person.cospool("queue", "list", "--done").succeeded().standardOutput
            .contains("a first prompt")
        }
      }
    }

    @Test func aFullDiskIsReportedInsteadOfAMissingLog() async throws {
      try await TestBed.run { bed in
        guard let disk = try await SmallDisk.mount(in: bed, name: "home") else {
          try Test.cancel("no tmpfs can be mounted here")
        }
        let person = try Person(bed)
        try FileManager.default.createDirectory(
          atPath: person.data, withIntermediateDirectories: true)
        try disk.fill()
        let (output, report) = try await person.setup("--no-service")
        let (begin, daemon) = try (
          #require(report.step("init")), #require(report.step("daemon"))
        )
        #expect(begin.state == "failed" && begin.what.contains("Free space"), "\(output)")
        #expect(daemon.state == "failed" && daemon.what.contains("is full"), "\(output)")
        #expect(!daemon.what.contains("Its output is in"), "\(output)")
        #expect(report.step("pair")?.state == "skipped", "\(output)")
      }
    }

    @Test func theFirstServerIsMadeHere() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        try FileManager.default.createDirectory(
          atPath: person.data, withIntermediateDirectories: true)
        // As if written before the machine restarted.
        try Data("listening on ws://127.0.0.1:1\n".utf8).write(
          to: URL(filePath: person.data + "/cospool-server.log"))
        let (output, report) = try await person.setup(
          "--no-service", "--server-here", "--server-port", "0")
        #expect(output.isSuccess && report.ok, "\(output)")
        let pair = try #require(report.step("pair"))
        #expect(pair.state == "done" && pair.what.contains("started a server"), "\(output)")
        #expect(pair.what.contains("ws://127.0.0.1:") && pair.what.contains("in sync"), "\(output)")
        #expect(pair.fix?.contains("cospool-server serve --port") == true, "\(output)")

        // After a reboot neither runs; the same command starts both again, at the same address.
        for name in ["cospool", "cospool-server"] {
          let text = try String(contentsOfFile: bed.path("started-" + name), encoding: .utf8)
          let id = try #require(pid_t(text))
          kill(id, SIGKILL)
          try await bed.eventually("\(name) has ended", within: 60) { kill(id, 0) != 0 }
        }
        let (again, second) = try await person.setup(
          "--no-service", "--server-here", "--server-port", "0")
        #expect(again.isSuccess && second.ok, "\(again)")
        let back = try #require(second.step("pair"))
        #expect(back.state == "done" && back.what.contains("started a server"), "\(again)")
        let address = try #require(pair.what.firstMatch(of: #/ws:[^,]+/#)?.0)
        #expect(back.what.contains(address), "\(again)")
      }
    }

    /// Every time, not only the first time, although the database no longer exists then.
    @Test func aServerWhoseDatabaseWasSetAsideIsNamedEachTime() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        let words = ["--no-service", "--server-here", "--server-port", "0"]
        let (output, report) = try await person.setup(words[0], words[1], words[2], words[3])
        #expect(output.isSuccess && report.ok, "\(output)")
        let text = try String(contentsOfFile: bed.path("started-cospool-server"), encoding: .utf8)
        let id = try #require(pid_t(text))
        kill(id, SIGKILL)
        try await bed.eventually("the server has ended", within: 60) { kill(id, 0) != 0 }
        let database = person.home + "/.local/share/cospool-server/cospool.sqlite"
        for suffix in ["", "-wal", "-shm"]
        where FileManager.default.fileExists(atPath: database + suffix) {
          try FileManager.default.moveItem(
            atPath: database + suffix, toPath: database + ".corrupt-1" + suffix)
        }
        for _ in 1...2 {
          let (again, second) = try await person.setup(words[0], words[1], words[2], words[3])
          let pair = try #require(second.step("pair"))
          #expect(pair.state == "failed" && pair.what.contains("backup restore"), "\(again)")
        }
      }
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
      try await TestBed.run { bed in
        let other = try await bed.server()
        let person = try Person(bed)
        let (output, report) = try await person.setup(
          "--no-service", "--server-here", "--server-port", "\(other.port)")
        let pair = try #require(report.step("pair"))
        #expect(pair.state == "failed" && pair.what.contains("in use"), "\(output)")
        #expect(pair.what.contains("--server-port"), "\(output)")
      }
    }

    /// A systemctl that carries out the unit.
    @Test func withSystemdItStartsAService() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        let unit = person.home + "/.config/systemd/user/cospoold.service"
        try person.program(
          "systemctl",
          """
          PATH=/usr/bin:/bin
          echo "$@" >> '\(bed.path("calls"))'
          case "$2" in
          is-active) exit 3;;
          restart)
            sed -n 's/^ExecStart=/exec /p' '\(unit)' > '\(bed.path("start"))'
            setsid sh '\(bed.path("start"))' < /dev/null > '\(bed.path("service"))' 2>&1 &
            echo $! > '\(bed.path("started-cospool"))';;
          esac
          """)
        try person.program("loginctl", "echo \"$@\" >> '\(bed.path("calls"))'")
        let (output, report) = try await person.setup()
        #expect(output.isSuccess && report.ok, "\(output)")
        let daemon = try #require(report.step("daemon"))
        #expect(daemon.state == "done" && daemon.what.contains(unit), "\(output)")
        #expect(report.step("linger")?.state == "done", "\(output)")
        #expect(report.step("pair")?.state == "skipped", "\(output)")
        #expect(report.step("pair")?.fix?.contains("cospool pair") == true, "\(output)")
        let calls = try String(contentsOfFile: bed.path("calls"), encoding: .utf8)
        #expect(calls.contains("--user enable cospoold.service"))
        #expect(calls.contains("enable-linger"))
        let status: LocalAPI.StatusAnswer = try await person.cospool("status", "--json")
          .succeeded().decoded()
        try "\(status.daemon.processID)".write(
          toFile: bed.path("started-cospool"), atomically: true, encoding: .utf8)
      }
    }

    /// At a terminal, Enter takes what is offered; without systemd that is a daemon without it.
    @Test func enterTakesWhatIsOffered() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        try person.program("claude", "echo 1.0.0")
        let process = try bed.launch(
          "/usr/bin/script",
          ["-qefc", "'\(try Executables.path(of: "cospool"))' setup", "/dev/null"],
          name: "terminal",
          input: "\n\n\n\n",
          environment: [
            "HOME": person.home, "PATH": person.programs, "USER": "ada", "TERM": "dumb",
          ])
        let output = try await bed.finish(process, ["setup"], within: 200)
        if let id = output.standardOutput.firstMatch(of: #/started, process ([0-9]+)/#)?.1 {
          try String(id).write(
            toFile: bed.path("started-cospool"), atomically: true, encoding: .utf8)
        }
        #expect(output.standardOutput.contains("Start the daemon now? [Y/n]"), "\(output)")
        #expect(try await person.cospool("status").isSuccess, "\(output)")
        let settings = try String(
          contentsOfFile: person.home + "/.claude/settings.json", encoding: .utf8)
        #expect(settings.contains("cospool"), "\(settings)")
      }
    }

    /// It holds its lock, and its socket accepts connections.
    @Test func aDaemonThatHangsIsNamedWithinSeconds() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        let (output, report) = try await person.setup("--no-service")
        try #require(report.step("daemon")?.state == "done", "\(output)")
        let text = try String(contentsOfFile: bed.path("started-cospool"), encoding: .utf8)
        let id = try #require(pid_t(text))
        try #require(kill(id, SIGSTOP) == 0)
        let begin = ContinuousClock.now
        let (hung, second) = try await person.setup("--no-service")
        #expect(ContinuousClock.now - begin < .seconds(40), "\(hung)")
        let daemon = try #require(second.step("daemon"))
        #expect(daemon.state == "failed" && hung.code == 1, "\(hung)")
        #expect(daemon.what.contains("process \(id), but does not answer"), "\(hung)")
        let advised = try #require(daemon.fix?.firstMatch(of: /kill -KILL ([0-9]+);/)?.1)
        #expect(second.step("pair") == nil, "\(hung)")
        let doctor = try await person.cospool("doctor", "--json")
        #expect(doctor.standardOutput.contains("kill -KILL \(id);"), "\(doctor)")
        // This follows the advice.
        try #require(kill(try #require(pid_t(advised)), SIGKILL) == 0)
        let (again, third) = try await person.setup("--no-service")
        #expect(third.step("daemon")?.state == "done", "\(again)")
      }
    }

    @Test func withoutConsentAndSystemdItSaysHowToStartTheDaemon() async throws {
      try await TestBed.run { bed in
        let person = try Person(bed)
        let output = try await person.cospool("setup")
        #expect(output.code == 1, "\(output)")
        for line in [
          "init      created \(person.data)", "daemon    failed: This machine has no systemctl",
          "cospoold --data \(person.data)", "Start it now: cospool setup --no-service",
          "pair      the device cannot be paired until", "noDaemon: no daemon runs",
        ] {
          #expect(output.standardOutput.contains(line), "\(line) in \(output)")
        }
        let wrong = try await person.cospool("setup", "--server", "ws://127.0.0.1:1")
        #expect(wrong.code == 2 && wrong.standardError.contains("--code"), "\(wrong)")
      }
    }
  }
}
