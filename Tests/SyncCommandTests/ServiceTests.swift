import Foundation
import Operations
import Testing

@testable import SyncCommand

/// `cospool service`, with a systemctl that records its calls.
@Suite(.timeLimit(.minutes(5))) struct ServiceTests {
  private struct Machine {
    let root = "/tmp/csp-service-\(UInt32.random(in: .min ... .max))"
    var unit: String { root + "/home/.config/systemd/user/cospoold.service" }

    init(systemctl: String? = "exit 0") throws {
      for folder in ["home", "bin"] {
        try FileManager.default.createDirectory(
          atPath: root + "/" + folder, withIntermediateDirectories: true)
      }
      try program("cospoold", "exit 0")
      if let systemctl {
        try program("systemctl", "echo \"$@\" >> '\(root)/calls'\n\(systemctl)")
      }
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    func program(_ name: String, _ script: String) throws {
      let path = root + "/bin/" + name
      try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    func cospool(_ arguments: String...) async -> CommandRunner.Outcome {
      await CommandFixture.cospool(
        arguments,
        variables: [
          "HOME": root + "/home", "PATH": root + "/bin", "COSPOOL_DATA": root + "/my data",
        ])
    }

    var calls: [String] {
      let text = try? String(contentsOfFile: root + "/calls", encoding: .utf8)
      return (text ?? "").split(separator: "\n").map(String.init)
    }

    var text: String? { try? String(contentsOfFile: unit, encoding: .utf8) }
  }

  private static let inactive = "case \"$2\" in is-active) exit 3;; esac\nexit 0"

  private func with(
    systemctl: String? = ServiceTests.inactive, _ body: (Machine) async throws -> Void
  ) async throws {
    let machine = try Machine(systemctl: systemctl)
    defer { machine.remove() }
    try await body(machine)
  }

  @Test func installingWritesTheUnitAndStartsIt() async throws {
    try await with { machine in
      let shown = await machine.cospool("service", "install", "--dry-run")
      #expect(shown.exitCode == 0 && shown.output.contains("# \(machine.unit)"))
      #expect(machine.text == nil && machine.calls.isEmpty)
      for _ in 1...2 {
        let done = await machine.cospool("service", "install")
        #expect(done.exitCode == 0, "\(done)")
        #expect(done.output.contains(machine.unit) && done.output.contains("enable-linger"))
      }
      let text = try #require(machine.text)
      #expect(shown.output.hasSuffix(text))
      #expect(text.contains("--data \"\(machine.root)/my data\"\n"))
      #expect(text.contains("Environment=\"PATH=\(machine.root)/bin\"\n"))
      #expect(
        machine.calls.suffix(3) == [
          "--user daemon-reload", "--user enable cospoold.service",
          "--user restart cospoold.service",
        ])
    }
  }

  /// Its running processes would be killed.
  @Test func aRunningServiceIsRestartedOnlyIfItChanges() async throws {
    try await with(systemctl: "exit 0") { machine in
      let restart = "--user restart cospoold.service"
      _ = await machine.cospool("service", "install")
      #expect(machine.calls.last == restart)
      let again = await machine.cospool("service", "install")
      #expect(again.exitCode == 0 && again.output.contains("nothing changed"), "\(again)")
      #expect(machine.calls.count { $0 == restart } == 1)
      let other = try #require(machine.text).replacing("RestartSec=2", with: "RestartSec=3")
      try other.write(toFile: machine.unit, atomically: true, encoding: .utf8)
      _ = await machine.cospool("service", "install")
      #expect(machine.calls.count { $0 == restart } == 2)
    }
  }

  /// A unit that cannot start would fail at every login.
  @Test func aServiceThatDoesNotStartIsTakenBack() async throws {
    try await with { machine in
      try machine.program(
        "systemctl",
        """
        echo "$@" >> '\(machine.root)/calls'
        case "$2" in
        is-active|is-enabled) [ -e '\(machine.root)/ran' ] || exit 3;;
        restart) ! /bin/grep -q RestartSec=2 '\(machine.unit)' || { echo 'Job failed.'; exit 1; };;
        esac
        """)
      try machine.program("journalctl", "echo 'no store'")
      let failed = await machine.cospool("service", "install")
      #expect(failed.exitCode == 1, "\(failed)")
      for words in ["Job failed.", "no store", "removed again", "install it again"] {
        #expect(failed.errors.contains(words), "\(words): \(failed)")
      }
      #expect(machine.text == nil)
      #expect(
        machine.calls.suffix(5) == [
          "--user restart cospoold.service", "--user disable cospoold.service",
          "--user stop cospoold.service", "--user daemon-reload",
          "--user reset-failed cospoold.service",
        ])

      // Whatever ran before runs again.
      let before = "[Service]\nExecStart=cospoold --data \"\(machine.root)/my data\"\n"
      try before.write(toFile: machine.unit, atomically: true, encoding: .utf8)
      try machine.program("../ran", "")
      try FileManager.default.removeItem(atPath: machine.root + "/bin/journalctl")
      let again = await machine.cospool("service", "install")
      #expect(again.exitCode == 1 && again.errors.contains("was restored"), "\(again)")
      #expect(again.errors.contains("cospool service logs") && machine.text == before)
      #expect(
        machine.calls.suffix(4) == [
          "--user restart cospoold.service", "--user daemon-reload",
          "--user reset-failed cospoold.service", "--user restart cospoold.service",
        ])
    }
  }

  /// Messages in the other data directory would wait forever.
  @Test func aServiceForOtherDataIsNotTakenOver() async throws {
    try await with(systemctl: "exit 0") { machine in
      #expect(await machine.cospool("service", "install").exitCode == 0)
      let text = machine.text
      let refused = await machine.cospool("service", "install", "--data", machine.root + "/other")
      #expect(refused.exitCode == 5 && refused.errors.contains("service uninstall"), "\(refused)")
      #expect(refused.errors.contains("my data") && machine.text == text)
      let kept = await machine.cospool("service", "uninstall", "--data", machine.root + "/other")
      #expect(kept.exitCode == 5 && kept.errors.contains("my data"), "\(kept)")
      #expect(machine.text == text && !machine.calls.contains { $0.contains("disable") })
      let done = await machine.cospool("service", "uninstall", "--data", machine.root + "/my data")
      #expect(done.exitCode == 0 && machine.text == nil, "\(done)")
      // A unit that names none is for the default data directory.
      try "[Service]\nExecStart=cospoold\n".write(
        toFile: machine.unit, atomically: true, encoding: .utf8)
      for verb in ["install", "uninstall"] {
        let usual = await machine.cospool("service", verb, "--data", machine.root + "/my data")
        #expect(usual.exitCode == 5 && usual.errors.contains("the usual"), "\(usual)")
      }
    }
  }

  @Test func aFileThatMayNotBeWrittenSaysWhy() async throws {
    try await with { machine in
      try Data().write(to: URL(filePath: machine.root + "/home/.config"))
      let refused = await machine.cospool("service", "install")
      #expect(refused.exitCode == 7, "\(refused)")
      #expect(refused.errors.contains("cannot be written: "), "\(refused)")
      #expect(refused.errors.contains("move it away"), "\(refused)")
    }
  }

  @Test func uninstallingStopsItAndTakesTheUnitAway() async throws {
    try await with { machine in
      let nothing = await machine.cospool("service", "uninstall")
      #expect(nothing.exitCode == 0 && nothing.output.contains("nothing changed"))
      #expect(machine.calls.isEmpty)
      _ = await machine.cospool("service", "install")
      let done = await machine.cospool("service", "uninstall", "--json")
      #expect(done.exitCode == 0 && done.output.contains("true"))
      #expect(machine.text == nil)
      #expect(
        machine.calls.suffix(2) == [
          "--user disable --now cospoold.service", "--user daemon-reload",
        ])
    }
  }

  @Test func refusalsOfSystemdAreReported() async throws {
    try await with(systemctl: "echo 'Failed to connect to bus' >&2\nexit 1") { machine in
      let refused = await machine.cospool("service", "install")
      #expect(refused.exitCode == 1 && refused.errors.contains("Failed to connect to bus"))
      #expect(refused.errors.contains("Log in directly") && machine.text == nil)
    }
    try await with(systemctl: nil) { machine in
      for command in ["install", "status", "logs"] {
        let absent = await machine.cospool("service", command)
        #expect(absent.exitCode == 1 && absent.errors.contains("This machine has no"), "\(absent)")
      }
    }
  }

  @Test func aDaemonThatWasStartedByHandIsNotOverrun() async throws {
    try await CommandFixture.run { fixture in
      let machine = try Machine(systemctl: ServiceTests.inactive)
      defer { machine.remove() }
      let refused = await machine.cospool("service", "install", "--data", fixture.directory)
      #expect(refused.exitCode == 5 && refused.errors.contains("kill"), "\(refused)")
      #expect(machine.text == nil)
    }
  }

  @Test func anEndedServiceIsReportedWithItsCommand() async throws {
    try await with { machine in
      _ = await machine.cospool("service", "install")
      let ended = await machine.cospool("status")
      #expect(ended.errors.contains("systemctl --user start cospoold.service"), "\(ended)")
      // A unit for other data is not the user's, and one that names none is for the default data
      // directory.
      let text = try #require(machine.text)
      for other in [
        text.replacing("my data", with: "other data"), "[Service]\nExecStart=/usr/bin/cospoold\n",
      ] {
        try other.write(toFile: machine.unit, atomically: true, encoding: .utf8)
        let none = await machine.cospool("status")
        #expect(
          none.errors.contains("cospool setup. To start it by hand: cospoold --data"), "\(none)")
      }
      let home = ["HOME": machine.root + "/home"]
      let usual = machine.root + "/home/.local/share/cospool"
      #expect(SystemdUnit.starts(usual, home))
      try FileManager.default.removeItem(atPath: machine.unit)
      #expect(!SystemdUnit.starts(usual, home))
      // A package's unit, which the user enabled.
      let wants = machine.root + "/home/.config/systemd/user/default.target.wants"
      try FileManager.default.createDirectory(atPath: wants, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: wants + "/cospoold.service",
        withDestinationPath: "/usr/lib/systemd/user/cospoold.service")
      #expect(SystemdUnit.starts(usual, home) && !SystemdUnit.starts("/other", home))
    }
  }

  @Test func statusReportsWhetherItRuns() async throws {
    try await with(systemctl: "echo state; exit 0") { machine in
      let runs = await machine.cospool("service", "status")
      #expect(runs.exitCode == 0 && runs.output == "state")
    }
    try await with { machine in
      #expect(await machine.cospool("service", "status").exitCode == 1)
      try machine.program("journalctl", "echo line; echo \"$@\"")
      let log = await machine.cospool("service", "logs", "--lines", "7")
      #expect(log.output.hasPrefix("line") && log.output.contains("--lines=7"))
      #expect(await machine.cospool("service", "logs", "--lines", "0").exitCode == 2)
    }
  }

  @Test func pathsAreQuotedAsSystemdReadsThem() throws {
    let unit = SystemdUnit(
      program: "/opt/a \"b\"/cospoold", dataDirectory: "/d/$HOME/100%", searchPath: "/a\\b:/c")
    let text = try unit.text()
    #expect(text.contains(#"ExecStart="/opt/a \"b\"/cospoold" --data "/d/$$HOME/100%%""#))
    #expect(text.contains(#"Environment="PATH=/a\\b:/c""#))
    #expect(throws: CommandFailure.self) {
      try SystemdUnit(program: "/a\nb", dataDirectory: "/d", searchPath: "/c").text()
    }
  }

  /// If systemd is installed, it accepts the unit.
  @Test func systemdAcceptsTheUnit() async throws {
    let variables = ProcessInfo.processInfo.environment
    guard ProgramRun.path(of: "systemd-analyze", in: variables) != nil else { return }
    let machine = try Machine()
    defer { machine.remove() }
    let unit = SystemdUnit(
      program: machine.root + "/bin/cospoold", dataDirectory: machine.root + "/100% $HOME",
      searchPath: "/usr/bin:/bin")
    let path = machine.root + "/cospoold.service"
    try unit.text().write(toFile: path, atomically: true, encoding: .utf8)
    let run = try #require(
      await ProgramRun.run(
        ["systemd-analyze", "verify", "--man=no", path], variables: variables, seconds: 30,
        withErrors: true))
    #expect(run.status == 0 && !run.output.contains("cospoold.service:"), "\(run)")
  }

  /// On macOS: a launchctl that records its calls, and knows what was loaded.
  private func withLaunchd(_ body: (Machine, _ path: String) async throws -> Void) async throws {
    try await with(systemctl: nil) { machine in
      let loaded = machine.root + "/loaded"
      let path = machine.root + "/home/Library/LaunchAgents/org.cospool.cospoold.plist"
      try machine.program(
        "launchctl",
        """
        echo "$@" >> '\(machine.root)/calls'
        case "$1" in
        bootstrap)
          if [ -e '\(machine.root)/bad' ] && /bin/grep -q Adaptive '\(path)'; then
            echo "Input/output error"
            exit 5
          fi
          : > '\(loaded)';;
        bootout) test -e '\(loaded)' && /bin/rm -f '\(loaded)';;
        print) test -e '\(loaded)' && echo "state = running";;
        esac
        """)
      try await body(machine, path)
    }
  }

  @Test func launchdRunsTheDaemonWithoutSystemd() async throws {
    try await withLaunchd { machine, path in
      let shown = await machine.cospool("service", "install", "--dry-run")
      #expect(shown.exitCode == 0 && shown.output.contains(path), "\(shown)")
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(await machine.cospool("service", "status").exitCode == 1)
      for _ in 1...2 {
        let done = await machine.cospool("service", "install")
        #expect(done.exitCode == 0 && done.output.contains(path), "\(done)")
      }
      #expect(machine.calls.suffix(2).first == "bootout gui/\(getuid())/org.cospool.cospoold")
      #expect(machine.calls.last == "bootstrap gui/\(getuid()) \(path)")
      #expect(await machine.cospool("service", "status").exitCode == 0)
      let data = try Data(contentsOf: URL(filePath: path))
      let plist = try #require(
        try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
      let words = try #require(plist["ProgramArguments"] as? [String])
      // The one beside cospool comes before the one in PATH.
      #expect(words.first?.hasSuffix("/cospoold") == true, "\(words)")
      #expect(words.dropFirst() == ["--data", machine.root + "/my data"])
      #expect((plist["KeepAlive"] as? [String: Bool]) == ["SuccessfulExit": false])
      try machine.program("tail", "printf '%s ' \"$@\"")
      #expect(
        await machine.cospool("service", "logs").output.contains("-n 50 \(machine.root)/home"))
      #expect(await machine.cospool("service", "uninstall").exitCode == 0)
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(await machine.cospool("service", "status").exitCode == 1)
    }
  }

  @Test func aLaunchAgentForOtherDataStays() async throws {
    try await withLaunchd { machine, path in
      #expect(await machine.cospool("service", "install").exitCode == 0)
      for verb in ["install", "uninstall"] {
        let refused = await machine.cospool("service", verb, "--data", machine.root + "/other")
        #expect(refused.exitCode == 5 && refused.errors.contains("my data"), "\(refused)")
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(await machine.cospool("service", "status").exitCode == 0)
      }
      let done = await machine.cospool("service", "uninstall", "--data", machine.root + "/my data")
      #expect(done.exitCode == 0 && !FileManager.default.fileExists(atPath: path), "\(done)")
    }
  }

  @Test func aLaunchAgentThatIsNotTakenInIsTakenBack() async throws {
    try await withLaunchd { machine, path in
      try machine.program("../bad", "")
      let failed = await machine.cospool("service", "install")
      #expect(failed.exitCode == 1 && failed.errors.contains("removed again"), "\(failed)")
      #expect(!FileManager.default.fileExists(atPath: path))

      try FileManager.default.removeItem(atPath: machine.root + "/bad")
      #expect(await machine.cospool("service", "install").exitCode == 0)
      let before = try String(contentsOfFile: path, encoding: .utf8)
        .replacing("Adaptive", with: "Standard")
      try before.write(toFile: path, atomically: true, encoding: .utf8)
      try machine.program("../bad", "")
      let again = await machine.cospool("service", "install")
      #expect(again.exitCode == 1 && again.errors.contains("was restored"), "\(again)")
      #expect(try String(contentsOfFile: path, encoding: .utf8) == before)
      #expect(await machine.cospool("service", "status").exitCode == 0)
    }
  }

  @Test func launchAgentsHoldAnyPath() throws {
    let agent = LaunchAgent(
      program: "/a & <b>/cospoold", dataDirectory: "/d & <e>", searchPath: "/c", home: "/h")
    let plist = try PropertyListSerialization.propertyList(
      from: Data(agent.text().utf8), format: nil)
    #expect(
      ((plist as? [String: Any])?["ProgramArguments"] as? [String])?.first == "/a & <b>/cospoold")
    #expect(LaunchAgent.dataDirectory(in: Data(agent.text().utf8)) == "/d & <e>")
    #expect(LaunchAgent.dataDirectory(in: Data("none".utf8)) == nil)
  }
}
