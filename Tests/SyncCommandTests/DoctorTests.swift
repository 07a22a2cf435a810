import AgentFormats
import Foundation
import LocalAPI
import Operations
import QueueModel
import Testing

@testable import SyncCommand

/// `cospool doctor` finds planted problems and names them.
@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
  /// A healthy machine, in folders of its own, without a daemon.
  struct Machine {
    let root = "/tmp/csp-doctor-\(UInt32.random(in: .min ... .max))"
    var data: String { root + "/data" }
    var home: String { root + "/home" }
    var bin: String { root + "/bin" }

    init() throws {
      for folder in [data, home, bin] {
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      }
      try write("{}", to: data + "/config.json")
      for name in ["cospool", "cospoold"] { try program(name, "exit 0") }
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    func write(_ text: String, to path: String, mode: Int = 0o600) throws {
      let folder = (path as NSString).deletingLastPathComponent
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    func program(_ name: String, _ script: String) throws {
      try write("#!/bin/sh\n\(script)\n", to: bin + "/" + name, mode: 0o755)
    }

    func credentials(server: String, mode: Int = 0o600) throws {
      try write(
        #"{"server":"\#(server)","token":"00"}"#, to: data + "/credentials.json", mode: mode)
    }

    var variables: [String: String] {
      ["HOME": home, "PATH": bin, "USER": "ada", "COSPOOL_DATA": data]
    }

    func findings(
      _ variables: [String: String] = [:], now: Date = Date(),
      _ change: (inout DoctorContext) -> Void = { _ in }
    ) async -> [DoctorFinding] {
      var context = await DoctorContext.gathered(
        dataDirectory: data, variables: self.variables.merging(variables) { $1 },
        program: bin + "/cospool", now: now,
        limits: .unhurried)
      context.lingerFolder = root + "/linger"
      context.unitFolders = [root + "/units"]
      change(&context)
      return await Doctor(context: context).findings()
    }
  }

  private func with(_ body: (Machine) async throws -> Void) async throws {
    let machine = try Machine()
    defer { machine.remove() }
    try await body(machine)
  }

  /// Expects a finding with advice.
  private func expect(
    _ findings: [DoctorFinding], _ code: String, _ severity: DoctorFinding.Severity,
    _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = findings.filter { $0.code == code && $0.severity == severity }
    #expect(!found.isEmpty, "\(code): \(findings)", sourceLocation: sourceLocation)
    for word in words {
      #expect(
        found.contains { "\($0.what) \($0.fix ?? "")".contains(word) }, "\(word) in \(found)",
        sourceLocation: sourceLocation)
    }
    if severity > .info {
      #expect(found.allSatisfy { $0.fix?.isEmpty == false }, sourceLocation: sourceLocation)
    }
  }

  @Test func aMachineThatIsWellHasNoFaultButTheDaemonThatIsNotThere() async throws {
    try await with { machine in
      let findings = await machine.findings()
      #expect(findings.filter { $0.severity > .info }.map(\.code) == ["noDaemon"])
      expect(findings, "noDaemon", .error, "cospoold --data \(machine.data)")
      expect(findings, "dataDirectory", .ok)
      expect(findings, "commandPath", .ok)
      expect(findings, "server", .info, "cospool pair")
      expect(findings, "agent", .info)
    }
  }

  @Test func theDataDirectoryIsLookedAt() async throws {
    try await with { machine in
      chmod(machine.data, 0o755)
      expect(await machine.findings(), "dataMode", .warning, "chmod 700")
      try machine.credentials(server: "ws://127.0.0.1:1", mode: 0o644)
      expect(await machine.findings(), "credentialsMode", .error, "chmod 600")
      let credentials = machine.data + "/credentials.json"
      try FileManager.default.moveItem(atPath: credentials, toPath: machine.root + "/foreign")
      try FileManager.default.createSymbolicLink(
        atPath: credentials, withDestinationPath: machine.root + "/foreign")
      let linked = await machine.findings()
      expect(linked, "fileKind", .error, "is a symbolic link", "rm \(credentials)")
      #expect(!linked.contains { $0.code == "credentialsMode" })
      try FileManager.default.removeItem(atPath: credentials)
      try machine.write("nothing", to: machine.data + "/credentials.json")
      expect(await machine.findings(), "credentials", .error, "pair")
      try machine.write("no database at all", to: machine.data + "/cospool.sqlite")
      expect(await machine.findings(), "store", .error)
      try machine.write("SQLite format 3\0", to: machine.data + "/cospool.sqlite")
      try machine.write("", to: machine.data + "/cospool.sqlite-wal")
      #expect(
        truncate(machine.data + "/cospool.sqlite-wal", off_t(DoctorFinding.logBytesHigh) + 1) == 0)
      expect(await machine.findings(), "storeLog", .warning, "512 MiB")
      try machine.write("{\n\"a\": }", to: machine.data + "/config.json")
      expect(await machine.findings(), "config", .error, "line 2")
      try FileManager.default.removeItem(atPath: machine.data)
      expect(await machine.findings(), "dataDirectory", .error, "cospool init")
      try machine.write("", to: machine.data)
      expect(await machine.findings(), "dataDirectory", .error, "not a folder")
    }
  }

  /// The daemon's program reads the whole file; the first bytes of a damaged one are correct.
  @Test func aDamagedStoreIsReported() async throws {
    try await with { machine in
      let store = machine.data + "/cospool.sqlite"
      try machine.write("SQLite format 3\0", to: store)
      expect(await machine.findings(), "store", .ok)
      // A program that does not know the option.
      try machine.program("cospoold", "exit 2")
      expect(await machine.findings(), "store", .ok)
      try machine.program(
        "cospoold", "[ \"$*\" = '--check-store --data \(machine.data)' ] && exit 6; exit 0")
      let damaged = await machine.findings()
      expect(damaged, "store", .error, "damaged", "starts with empty queues")
      #expect(damaged.count { $0.code == "store" } == 1)
      try machine.program("cospoold", "echo 'cospoold: it has format 99' >&2; exit 1")
      expect(await machine.findings(), "store", .error, "it has format 99")
      // Damaged files that were set aside are named, together with their companions.
      try machine.write("", to: store + ".corrupt-1")
      try machine.write("", to: store + ".corrupt-1-wal")
      let aside = await machine.findings().filter { $0.code == "storeSetAside" }
      expect(aside, "storeSetAside", .warning, "\(store).corrupt-1", "the only copy")
      #expect(aside.count == 1 && aside.first?.fix?.contains("rm ") == false)
      // Only a server may have the rest.
      try machine.write(
        #"{"server":"ws://127.0.0.1:1","token":"00"}"#, to: machine.data + "/credentials.json")
      let paired = await machine.findings()
      expect(paired, "storeSetAside", .warning, "\(store).corrupt-1", "rm ")
      try machine.program("cospoold", "[ \"$1\" = '--check-store' ] && exit 6; exit 0")
      expect(await machine.findings(), "store", .error, "damaged", "Restart the daemon twice")
    }
  }

  @Test func littleSpaceIsReported() async throws {
    try await with { machine in
      let context = await DoctorContext.gathered(
        dataDirectory: machine.data, variables: [:], program: "cospool", now: Date())
      #expect(Doctor.diskSpace(free: 1 << 20, context).severity == .error)
      #expect(Doctor.diskSpace(free: 500 << 20, context).severity == .warning)
      #expect(Doctor.diskSpace(free: 50 << 30, context).severity == .ok)
    }
  }

  @Test func unsentChangesAreReportedByTheirAge() {
    let now = Date(timeIntervalSince1970: 100_000)
    #expect(Doctor.outbox(count: 0, oldestMilliseconds: nil, now: now).severity == .ok)
    #expect(Doctor.outbox(count: 2, oldestMilliseconds: 99_000_000, now: now).severity == .info)
    let old = Doctor.outbox(count: 2, oldestMilliseconds: 10_000_000, now: now)
    #expect(old.code == "outbox" && old.severity == .warning && old.fix != nil)
    #expect(old.what.contains("2 changes"))
    let files = Doctor.outboxFiles("its disk is full")
    #expect(files.code == "outboxFiles" && files.severity == .warning && files.fix != nil)
    let id = MessageID(high: 1, low: 2)
    let unsent = UnsentAnswer(messages: [
      .init(id: id, delivery: .refused, error: "a viewer changes nothing"),
      .init(id: MessageID(high: 1, low: 3), delivery: .sending, error: nil),
    ])
    let refused = Doctor.refused(unsent)
    expect(refused, "outboxRefused", .warning, "a viewer changes nothing", "queue cancel \(id)")
    #expect(refused.count == 1)
  }

  @Test func aDeadPushTargetIsReported() {
    func target(_ isValid: Bool) -> PushTargetAnswer {
      PushTargetAnswer(
        id: PushTargetID(high: 1, low: 2), kind: "ntfy", address: "https://n.example/…",
        valid: isValid, reason: "410", deliveredAt: nil)
    }
    #expect(Doctor.pushTarget(target(true)).severity == .ok)
    let dead = Doctor.pushTarget(target(false))
    #expect(dead.code == "pushTargets" && dead.severity == .warning && dead.fix != nil)
    #expect(dead.what.contains("410"))
  }

  @Test func programsInThePathAreLookedAt() async throws {
    try await with { machine in
      let other = machine.root + "/other"
      try machine.write("#!/bin/sh\n", to: other + "/cospool", mode: 0o755)
      let found = await machine.findings(["PATH": "\(other):\(machine.bin)"])
      expect(found, "commandPath", .warning, other)
      expect(await machine.findings(["PATH": "/nowhere"]), "commandPath", .warning, "PATH")
      try FileManager.default.removeItem(atPath: machine.bin + "/cospoold")
      expect(await machine.findings(), "daemonProgram", .warning)
    }
  }

  @Test func agentsAreLookedFor() async throws {
    try await with { machine in
      try machine.write(#"{"agent":"claude"}"#, to: machine.data + "/config.json")
      expect(await machine.findings(), "agent", .error, "claude", "command")
      try machine.program("claude", "echo 2.1.0 '(Claude Code)'")
      var found = await machine.findings()
      expect(found, "agent", .ok, machine.bin + "/claude")
      expect(found, "agent.claude", .ok, "2.1.0")
      expect(found, "mcp", .info, "claude mcp add")
      try machine.program("claude", "exit 3")
      expect(await machine.findings(), "agent.claude", .warning)
      try machine.write(#"{"agent":"command"}"#, to: machine.data + "/config.json")
      expect(await machine.findings(), "agent", .error, "no command is set")
      let own = machine.bin + "/own agent"
      try machine.write(
        #"{"agent":"command","command":"'\#(own)' {}"}"#, to: machine.data + "/config.json")
      expect(await machine.findings(), "agent", .error, "\(own), which does not exist")
      try machine.program("own agent", "exit 0")
      expect(await machine.findings(), "agent", .ok, own)
      chmod(own, 0o644)
      expect(await machine.findings(), "agent", .error, "chmod +x '\(own)'")
      try machine.write(
        #"{"notifyCommand":"/nowhere/say it","projectRoots":"/nowhere/src"}"#,
        to: machine.data + "/config.json")
      found = await machine.findings()
      expect(found, "notifyCommand", .warning, "/nowhere/say")
      expect(found, "projectRoots", .warning, "/nowhere/src")
    }
  }

  @Test func aHangingAgentDelaysNoOther() async throws {
    try await with { machine in
      try machine.program("codex", "exec /bin/sleep 600")
      let began = ContinuousClock.now
      let findings = await machine.findings { $0.limits.versionSeconds = 0.1 }
      expect(findings, "agent.codex", .warning)
      #expect(ContinuousClock.now - began < .seconds(30))
    }
  }

  @Test func hooksHaveToReachThisProgram() async throws {
    try await with { machine in
      let file = machine.home + "/.claude/settings.json"
      func install(_ command: String, events: [HookEvent.Name] = HookAgent.claude.events) throws {
        var settings = try HookSettings([])
        try settings.install(
          events.map { (event: $0.rawValue, command: command, timeout: 10) })
        try machine.write(String(decoding: settings.bytes, as: UTF8.self), to: file)
      }
      try machine.write("{}", to: file)
      expect(await machine.findings(), "hooks.claude", .info, "cospool hooks install claude")
      try install("\(machine.bin)/cospool hook --timeout 5")
      expect(await machine.findings(), "hooks.claude", .ok)
      try install("/nowhere/cospool hook --feed")
      expect(
        await machine.findings(), "hooks.claude", .error, "/nowhere/cospool",
        "install claude --feed")
      try machine.write("#!/bin/sh\n", to: machine.root + "/old/cospool", mode: 0o755)
      try install("\(machine.root)/old/cospool hook --ask")
      expect(await machine.findings(), "hooks.claude", .error, "another cospool", "--approvals")
      try install("\(machine.bin)/cospool hook --data /elsewhere")
      expect(await machine.findings(), "hooks.claude", .error, "another daemon")
      try install("\(machine.bin)/cospool hook", events: [.stop])
      expect(await machine.findings(), "hooks.claude", .warning, "SessionStart")
      try machine.write("{", to: file)
      expect(await machine.findings(), "hooks.claude", .error, "line 1")
    }
  }

  @Test func theMCPEntryHasToStartThisProgram() async throws {
    try await with { machine in
      try machine.program("claude", "echo 2.1.0")
      let file = machine.home + "/.claude.json"
      func entry(_ command: String, _ argument: String) throws {
        try machine.write(
          #"{"mcpServers":{"cospool":{"command":"\#(command)","args":["\#(argument)"]}}}"#, to: file
        )
      }
      try entry("/nowhere/cospool", "mcp")
      expect(await machine.findings(), "mcp", .error, "/nowhere/cospool")
      try entry("cospool", "status")
      expect(await machine.findings(), "mcp", .error, "does not run cospool mcp")
      try entry("cospool", "mcp")
      expect(await machine.findings(), "mcp", .ok)
    }
  }

  @Test func theServiceIsLookedAt() async throws {
    try await with { machine in
      try machine.program("systemctl", "exit 0")
      expect(await machine.findings(), "service", .info)
      // A package's unit belongs to no user until it is enabled.
      let packaged = machine.root + "/units"
      try machine.write(
        "[Service]\nExecStart=\(machine.bin)/cospoold\n", to: packaged + "/cospoold.service")
      expect(await machine.findings(), "service", .info, "as a service")
      try machine.write("", to: packaged + "/default.target.wants/cospoold.service")
      expect(await machine.findings(), "service", .ok)
      try FileManager.default.removeItem(atPath: packaged)
      let folder = machine.home + "/.config/systemd/user"
      func unit(_ program: String) throws {
        try machine.write("[Service]\nExecStart=\(program)\n", to: folder + "/cospoold.service")
      }
      try unit("/nowhere/cospoold")
      expect(await machine.findings(), "service", .error, "/nowhere/cospoold")
      try unit(machine.bin + "/cospoold")
      expect(await machine.findings(), "service", .warning, "enable")
      expect(await machine.findings(), "linger", .warning, "enable-linger")
      try machine.write("", to: folder + "/default.target.wants/cospoold.service")
      try machine.write("", to: machine.root + "/linger/ada")
      let found = await machine.findings()
      expect(found, "service", .ok)
      expect(found, "linger", .ok)
      #expect(!found.contains { $0.code == "serviceFailed" })
      try machine.program(
        "systemctl", "[ \"$*\" = '--user is-failed cospoold.service' ] && echo failed")
      // That unit is for the default data directory, and this is a different one.
      #expect(await !machine.findings().contains { $0.code == "serviceFailed" })
      try unit(#"\#(machine.bin)/cospoold --data "\#(machine.data)""#)
      expect(
        await machine.findings(), "serviceFailed", .error, "cospool service logs", "reset-failed",
        "--user start")
    }
  }

  // The advice works: with --fix, the same command no longer finds the problem.
  @Test func fixTakesRightsFromOthers() async throws {
    try await with { machine in
      chmod(machine.data, 0o755)
      try machine.credentials(server: "ws://127.0.0.1:1", mode: 0o644)
      let before = await CommandFixture.cospool(["doctor"], variables: machine.variables)
      #expect(before.exitCode == 1 && before.output.contains("credentialsMode: "))
      let fixed = await CommandFixture.cospool(["doctor", "--fix"], variables: machine.variables)
      #expect(fixed.output.contains("corrected"))
      let after = await CommandFixture.cospool(
        ["doctor", "--json", "--all"], variables: machine.variables)
      let tree = try #require(JSONTree(Array(after.output.utf8)))
      let codes = tree["findings"]?.elements.filter { $0["severity"]?.text == "ok" }
        .compactMap { $0["code"]?.text }
      #expect(codes?.contains("credentialsMode") == true && codes?.contains("dataMode") == true)
      #expect(tree["worst"]?.text == "error")
      #expect(after.exitCode == 1, "there is no daemon")
    }
  }

  @Test func aRunningDaemonIsAsked() async throws {
    try await CommandFixture.run { fixture in
      let all = await fixture.cospool("doctor", "--all")
      #expect(all.output.contains("daemon: process"), "\(all.output)")
      #expect(all.output.contains("daemonVersion: version"))
      #expect(all.output.contains("settings: all settings are valid"))
      var context = await DoctorContext.gathered(
        dataDirectory: fixture.directory, variables: [:], program: "/opt/cospool", now: Date(),
        limits: .unhurried)
      context.running?.version = "0.0.1"
      expect(
        await Doctor(context: context).findings(), "daemonVersion", .error, "0.0.1", "/opt/cospool")
      let warned = await fixture.cospool("config", "set", "agent", "command")
      #expect(warned.exitCode == 0)
      let found = await fixture.cospool("doctor")
      #expect(found.exitCode == 1 && found.output.contains("no command is set"))
      chmod(fixture.directory + "/cospool.sock", 0o666)
      #expect(await fixture.cospool("doctor").output.contains("socketMode"))
      try "{ \"colour\": 1 }".write(
        toFile: fixture.directory + "/config.json", atomically: true, encoding: .utf8)
      #expect(await fixture.cospool("doctor").output.contains("colour"))
      try "{ \"agent\" 1 }".write(
        toFile: fixture.directory + "/config.json", atomically: true, encoding: .utf8)
      let once = await fixture.cospool("doctor").output
      #expect(
        once.split(separator: "\n").count { $0.contains("config.json, line 1") } == 1, "\(once)")
    }
  }
}
