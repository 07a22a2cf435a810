import AgentFormats
import Basics
import Foundation
import LocalAPI
import Synchronization
import Testing

@testable import SyncCommand

/// `cospool hook` and `cospool hooks`.
@Suite struct HookCommandTests {
  private func hook(
    _ fixture: CommandFixture, _ event: String, _ arguments: [String] = [],
    variables: [String: String] = [:]
  ) async -> (outcome: CommandRunner.Outcome, complaints: [String]) {
    // These tests do not check the hook's own limit, and a busy machine is slow.
    let patience = arguments.contains("--timeout") ? [] : ["--timeout", "60"]
    return await Self.run(
      ["hook", "--explain"] + patience + arguments, stdin: event,
      variables: variables.merging(["COSPOOL_DATA": fixture.directory]) { own, _ in own })
  }

  private static func run(
    _ arguments: [String], stdin: String = "", variables: [String: String] = [:]
  ) async -> (outcome: CommandRunner.Outcome, complaints: [String]) {
    let complaints = Mutex<[String]>([])
    var environment = Environment(
      variables: variables, input: StandardInput { [] }, style: .plain, watching: .none)
    environment.pieces = {
      AsyncStream { continuation in
        continuation.yield(Array(stdin.utf8))
        continuation.finish()
      }
    }
    environment.complain = { text in complaints.withLock { $0.append(text) } }
    let outcome = await CommandRunner(environment: environment).run(arguments)
    return (outcome, complaints.withLock { $0 })
  }

  private func event(_ name: String, _ fields: String = "") -> String {
    #"{"session_id":"ABC-1","transcript_path":"/t","cwd":"/src/shop","permission_mode":"default","#
      + #""hook_event_name":"\#(name)"\#(fields.isEmpty ? "" : "," + fields)}"#
  }

  /// One field of the daemon's data about a session's agent.
  private func expectActivity(
    _ fixture: CommandFixture, of session: String = "abc-1", _ field: String, _ value: JSONTree
  ) async throws {
    let answer = try await DaemonConnection(dataDirectory: fixture.directory).answer(
      to: APIRequest(.get, ["sessions", session, "activity"]))
    let tree = try #require(JSONTree(Array(answer.json)))
    #expect(tree[field] == value, "\(tree.line)")
  }

  private static let silent = CommandRunner.Outcome()

  @Test func aTurnGoesThroughTheQueuesAsItHappens() async throws {
    try await CommandFixture.run { fixture in
      #expect(await hook(fixture, event("SessionStart", #""source":"startup""#)).complaints == [])
      let session = await fixture.cospool("session", "list", "--json").output
      #expect(
        session.contains("\"name\":\"shop\"") && session.contains("\"project\":\"/src/shop\""))

      #expect(await hook(fixture, event("UserPromptSubmit", #""prompt":"go""#)).complaints == [])
      try await expectActivity(fixture, "isProcessing", true)
      // The thread is in the queue, and hidden while the agent works.
      #expect(await fixture.cospool("thread", "list", "--json").output.contains("\"locked\":true"))

      let tools = #""tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1""#
      #expect(await hook(fixture, event("PreToolUse", tools)).complaints == [])
      try await expectActivity(fixture, "runningTools", ["toolu_1"])
      #expect(await hook(fixture, event("PermissionRequest", tools)).complaints == [])
      try await expectActivity(fixture, "isPendingApproval", true)
      #expect(await hook(fixture, event("PostToolUse", tools)).complaints == [])
      try await expectActivity(fixture, "isPendingApproval", false)
      try await expectActivity(fixture, "runningTools", [])

      let prompt =
        #""message":"Claude needs your permission","notification_type":"permission_prompt""#
      #expect(await hook(fixture, event("Notification", prompt)).complaints == [])
      try await expectActivity(fixture, "isPendingApproval", true)
      let other = #""message":"waiting","notification_type":"auth_success""#
      #expect(await hook(fixture, event("Notification", other)).complaints == [])
      try await expectActivity(fixture, "busy", true)

      let stop = await hook(fixture, event("Stop", #""stop_hook_active":false"#))
      #expect(stop.complaints == [] && stop.outcome == Self.silent)
      try await expectActivity(fixture, "busy", false)
      #expect(await fixture.cospool("thread", "list", "--json").output.contains("\"locked\":false"))
      #expect(await hook(fixture, event("SessionEnd", #""reason":"exit""#)).complaints == [])
    }
  }

  /// Allowing its question tool would be an empty answer, so it asks at its own prompt.
  @Test func claudesQuestionsAreShownAsQuestions() async throws {
    try await CommandFixture.run { fixture in
      let tool =
        #""tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which database?","#
        + #""header":"DB","options":[{"label":"SQLite"},{"label":"Postgres"}]}]}"#
      for flags in [["--ask"], []] {
        let asked = await hook(fixture, event("PermissionRequest", tool), flags)
        #expect(asked.outcome == Self.silent && asked.complaints == [])
        let task = JSONTree(
          Array(await fixture.cospool("task", "show", "abc-1", "--json").output.utf8))
        #expect(task?["status"] == "awaitingAnswer", "\(task?.line ?? "")")
        #expect(task?["question"]?["question"] == "Which database?")
        #expect(task?["question"]?["options"] == ["SQLite", "Postgres"])
      }
    }
  }

  /// An agent reports its session at every start and after each compaction.
  @Test func aSessionKeepsTheNameThatItsUserChose() async throws {
    try await CommandFixture.run { fixture in
      let start = event("SessionStart", #""source":"startup""#)
      #expect(await hook(fixture, start).complaints == [])
      #expect(
        await fixture.cospool("session", "rename", "abc-1", "Review of the parser").exitCode == 0)
      let again = event("SessionStart", #""source":"compact""#)
        .replacing("/src/shop", with: "/src/shop/web")
      #expect(await hook(fixture, again).complaints == [])
      let list = await fixture.cospool("session", "list", "--json").output
      #expect(list.contains(#""name":"Review of the parser""#), "\(list)")
      #expect(list.contains(#""project":"/src/shop""#), "\(list)")
      // An agent's reports cannot be undone.
      #expect(await fixture.cospool("undo").output.contains("renaming"))
      #expect(await fixture.cospool("undo").errors.contains("othing"))
      // A session that a user made without a name or project gets them.
      #expect(await fixture.cospool("session", "add", "mine").exitCode == 0)
      #expect(await hook(fixture, again, ["-s", "mine"]).complaints == [])
      #expect(
        await fixture.cospool("session", "list", "--json").output.contains(#""/src/shop/web""#))
    }
  }

  /// An agent that its user stopped does not report the end of its turn.
  @Test(arguments: [
    (name: "Notification", #""notification_type":"idle_prompt""#),
    (name: "Notification", #""message":"Claude is waiting for your input""#),
    (name: "SessionEnd", #""reason":"exit""#), (name: "SessionStart", #""source":"resume""#),
  ]) func aTurnThatWasCutOffEnds(name: String, fields: String) async throws {
    try await CommandFixture.run { fixture in
      #expect(await hook(fixture, event("UserPromptSubmit")).complaints == [])
      #expect(await hook(fixture, event("PreToolUse", #""tool_name":"Bash""#)).complaints == [])
      // Its context was compacted in the middle of its turn.
      #expect(await hook(fixture, event("SessionStart", #""source":"compact""#)).complaints == [])
      try await expectActivity(fixture, "busy", true)
      #expect(await hook(fixture, event(name, fields)).complaints == [])
      try await expectActivity(fixture, "busy", false)
      let tasks = await fixture.cospool("task", "list", "--json").output
      #expect(tasks.contains("cancelled") && !tasks.contains("success"), "\(tasks)")
      #expect(await fixture.cospool("thread", "list", "--json").output.contains("\"locked\":false"))
    }
  }

  @Test func aSessionThatIsNotKnownIsMadeKnown() async throws {
    try await CommandFixture.run { fixture in
      let tools = #""tool_name":"Read""#
      #expect(await hook(fixture, event("PreToolUse", tools)).complaints == [])
      try await expectActivity(fixture, "runningTools", ["Read"])
      // Another session, by name.
      #expect(await hook(fixture, event("PreToolUse", tools), ["-s", "mine"]).complaints == [])
      try await expectActivity(fixture, of: "mine", "busy", true)
      let named = await hook(
        fixture, event("PreToolUse", tools), variables: ["COSPOOL_SESSION": "other"])
      #expect(named.complaints == [])
      try await expectActivity(fixture, of: "other", "busy", true)
    }
  }

  @Test func agentsOfTheExecutorAreIgnored() async throws {
    try await CommandFixture.run { fixture in
      let result = await hook(
        fixture, event("PreToolUse"),
        variables: ["COSPOOL_SESSION": "s", "COSPOOL_MESSAGE": "cdf0c855"])
      #expect(result.outcome == Self.silent && result.complaints == [])
      #expect(!(await fixture.cospool("session", "list", "--json").output.contains("\"s\"")))
    }
  }

  @Test func signalsCountWithoutAThreadQueue() async throws {
    try await CommandFixture.run(threadQueue: false) { fixture in
      #expect(await hook(fixture, event("UserPromptSubmit")).complaints == [])
      try await expectActivity(fixture, "isProcessing", true)
    }
  }

  /// After any failure: exit code 0 and no output, so that the agent asks or continues.
  @Test func noFailureBlocksTheAgent() async throws {
    try await CommandFixture.run { fixture in
      for input in [
        "", "{", "[]", "null", #"{"hook_event_name":"Stop"}"#,
        #"{"hook_event_name":"Hologram","session_id":"a"}"#, #"{"session_id":3}"#,
        event("Stop").replacing("ABC-1", with: String(repeating: "x", count: 500)),
      ] {
        let result = await hook(fixture, input, ["--feed"])
        #expect(result.outcome == Self.silent, "\(input)")
        #expect(result.complaints.count == 1, "\(input)")
      }
    }
    let gone = CommandFixture(directory: "/tmp/csp-none-\(UInt32.random(in: .min ... .max))")
    let result = await hook(gone, event("PermissionRequest"))
    #expect(result.outcome == Self.silent)
    #expect(result.complaints.first?.contains("No daemon is running") == true)
    // Without --explain, there is no output.
    let quiet = await Self.run(
      ["hook"], stdin: event("Stop"), variables: ["COSPOOL_DATA": gone.directory])
    #expect(quiet.outcome == Self.silent && quiet.complaints == [])
    // Claude Code treats exit code 2 as a veto, so wrong usage must not end with it.
    let wrong = await Self.run(["hook", "--no-such-flag"], stdin: event("Stop"))
    #expect(wrong.outcome.exitCode == 0 && wrong.outcome.output.isEmpty)
    let late = await Self.run(["--data", "/tmp/x", "hook", "--no-such-flag"], stdin: event("Stop"))
    #expect(late.outcome.exitCode == 0 && late.outcome.output.isEmpty)
    for timeout in ["nan", "inf", "1e30", "-1"] {
      let odd = await Self.run(
        ["hook", "--feed", "--timeout=\(timeout)"], stdin: event("Stop"),
        variables: ["COSPOOL_DATA": gone.directory])
      #expect(odd.outcome == Self.silent, "\(timeout)")
    }
  }

  /// An agent that never closes stdin does not block the hook.
  @Test func theHookEndsInTime() async throws {
    var environment = Environment(
      variables: ["COSPOOL_DATA": "/tmp/none"], input: StandardInput { [] }, style: .plain,
      watching: .none)
    let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
    environment.pieces = { stream }
    let complaints = Mutex<[String]>([])
    environment.complain = { text in complaints.withLock { $0.append(text) } }
    let outcome = await CommandRunner(environment: environment).run(
      ["hook", "--explain", "--timeout", "0.2"])
    continuation.finish()
    #expect(outcome == Self.silent)
    #expect(complaints.withLock { $0 }.first?.contains("longer than 0.2") == true)
  }

  @Test func hooksAreInstalledShownAndRemoved() async throws {
    let home = "/tmp/csp-home-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let path = home + "/.claude/settings.json"
    try FileManager.default.createDirectory(
      atPath: home + "/.claude", withIntermediateDirectories: true)
    let before = "{\n  \"model\": \"opus\"\n}\n"
    try Data(before.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    func cospool(_ arguments: String...) async -> CommandRunner.Outcome {
      await Self.run(arguments, variables: ["HOME": home]).outcome
    }
    #expect(await cospool("hooks", "status").output.contains("claude: none, \(path)"))
    let install = await cospool(
      "hooks", "install", "claude", "--feed", "--program", "/opt/my tools/cospool")
    #expect(install.exitCode == 0 && install.output.hasPrefix("installed in \(path)"))
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let command = "'/opt/my tools/cospool' hook --timeout 5"
    let settings = try HookSettings(Array(text.utf8))
    #expect(settings.installed.map(\.event) == HookEvent.Name.allCases.map(\.rawValue))
    for (event, installed) in settings.installed {
      let feeds = ["Stop", "StopFailure", "UserPromptSubmit", "SessionEnd"].contains(event)
      #expect(installed == (feeds ? command + " --feed" : command))
    }
    #expect(text.contains("\"model\": \"opus\"") && text.contains("\"timeout\": 10"))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
    #expect(
      try String(contentsOfFile: path + HookFile.backupSuffix, encoding: .utf8) == before)
    #expect(
      await cospool("hooks", "status").output.contains(
        "claude: installed, feeding, \(path), but /opt/my tools/cospool does not exist"))
    #expect(
      await cospool("hooks", "install", "claude", "--feed", "--program", "/opt/my tools/cospool")
        .output.contains("nothing changed"))
    #expect(await cospool("hooks", "uninstall", "claude").output == "removed from \(path)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == before)
    #expect(await cospool("hooks", "uninstall", "claude").output.contains("nothing changed"))

    // The agent runs them in another folder.
    #expect(
      await cospool(
        "hooks", "install", "claude", "--program", "bin/../cospool", "--data", "./queues"
      ).exitCode == 0)
    let folder = FileManager.default.currentDirectoryPath
    let absolute = try HookSettings(Array(try Data(contentsOf: URL(fileURLWithPath: path))))
    #expect(
      Set(absolute.installed.map(\.command)) == [
        "\(Shell.quoted(folder + "/cospool")) hook --timeout 5 --data "
          + Shell.quoted(folder + "/queues")
      ])

    let codex = await cospool("hooks", "install", "codex", "--program", "cospool", "--json")
    #expect(codex.output.contains("\"changed\":true"))
    #expect(FileManager.default.fileExists(atPath: home + "/.codex/hooks.json"))
  }

  @Test func earlierSettingsAreKeptAndHooksAreDescribed() async throws {
    let home = "/tmp/csp-home-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let path = home + "/.claude/settings.json"
    try FileManager.default.createDirectory(
      atPath: home + "/.claude/bin", withIntermediateDirectories: true)
    try Data("{\"model\": \"opus\"}".utf8).write(to: URL(fileURLWithPath: path))
    let program = home + "/.claude/bin/cospool"
    #expect(
      FileManager.default.createFile(
        atPath: program, contents: nil, attributes: [.posixPermissions: 0o755]))
    func hooks(_ arguments: String...) async -> String {
      await Self.run(["hooks"] + arguments, variables: ["HOME": home]).outcome.output
    }
    _ = await hooks("install", "claude", "--approvals", "--program", program)
    #expect(await hooks("status") == "claude: installed, with approvals on all devices, \(path)")
    #expect(await hooks("status", "--json").contains("\"asks\":true"))
    #expect(
      await hooks("install", "claude", "--feed", "--program", program)
        .contains("without --approvals now"))
    #expect(await hooks("status") == "claude: installed, feeding, \(path)")
    _ = await hooks("uninstall", "claude")
    #expect(
      try String(contentsOfFile: path + HookFile.backupSuffix, encoding: .utf8)
        == "{\"model\": \"opus\"}")
  }

  /// The agents' own variables give the places of their settings.
  @Test func theAgentsOwnFolderIsTaken() async throws {
    let home = "/tmp/csp-home-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let variables = [
      "HOME": home, "CLAUDE_CONFIG_DIR": home + "/other", "CODEX_HOME": home + "/codex",
    ]
    for (agent, file) in [("claude", "/other/settings.json"), ("codex", "/codex/hooks.json")] {
      let install = await Self.run(
        ["hooks", "install", agent, "--program", "cospool"], variables: variables
      ).outcome
      #expect(install.output.hasPrefix("installed in \(home + file)"), "\(install)")
    }
    // A value that is not a path counts as missing.
    let relative = await Self.run(
      ["hooks", "install", "claude", "--program", "cospool"],
      variables: ["HOME": home, "CLAUDE_CONFIG_DIR": "other"]
    ).outcome
    #expect(relative.output.hasPrefix("installed in \(home)/.claude/settings.json"))
    // An unreadable file does not hide the other.
    try Data("{".utf8).write(to: URL(fileURLWithPath: home + "/codex/hooks.json"))
    let status = await Self.run(["hooks", "status"], variables: variables).outcome
    #expect(status.exitCode == 0)
    #expect(status.output.contains("codex: unreadable, \(home)/codex/hooks.json"))
    #expect(status.output.contains("claude: installed"))
    let idle = await Self.run(
      ["hooks", "install", "claude", "--patience", "30", "--program", "cospool"],
      variables: variables
    ).outcome
    #expect(idle.exitCode == 2 && idle.errors.contains("--approvals"))
  }

  @Test func feedingTwiceIsReported() async throws {
    let home = "/tmp/csp-home-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    let person = home + "/.claude/settings.json"
    let mine = home + "/mine.json"
    func install(_ arguments: String...) async -> String {
      await Self.run(
        ["hooks", "install", "claude", "--program", "cospool"] + arguments,
        variables: ["HOME": home]
      ).outcome.output
    }
    #expect(!(await install("--feed").contains("also gives queued prompts")))
    #expect(
      await install("--feed", "--file", mine).hasSuffix(
        "\(person) also gives queued prompts to these sessions; one of the two files is enough"))
    #expect(
      await install("--feed", "--file", mine, "--json").contains("\"feedingToo\":[\"\(person)\"]"))
    #expect(!(await install("--file", mine).contains("also gives queued prompts")))
    #expect(!(await install("--feed").contains("also gives queued prompts")))
  }

  @Test func aFileWithoutJSONIsRefusedAndNotChanged() async throws {
    let path = "/tmp/csp-settings-\(UInt32.random(in: .min ... .max)).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let broken = "{\n  // mine\n}\n"
    try Data(broken.utf8).write(to: URL(fileURLWithPath: path))
    for arguments in [["install", "claude", "--program", "cospool"], ["uninstall", "claude"]] {
      let outcome = await Self.run(["hooks"] + arguments + ["--file", path]).outcome
      #expect(outcome.exitCode == 6)
      #expect(outcome.errors.contains("\(path), line 2:"))
      #expect(try String(contentsOfFile: path, encoding: .utf8) == broken)
    }
    #expect(!FileManager.default.fileExists(atPath: path + HookFile.backupSuffix))
  }

  @Test func aLinkStaysALink() async throws {
    let folder = "/tmp/csp-link-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: folder + "/dotfiles", withIntermediateDirectories: true)
    try Data("{}\n".utf8).write(to: URL(fileURLWithPath: folder + "/dotfiles/s.json"))
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/s.json", withDestinationPath: folder + "/dotfiles/s.json")
    let outcome = await Self.run(
      ["hooks", "install", "claude", "--file", folder + "/s.json", "--program", "cospool"]
    ).outcome
    #expect(outcome.exitCode == 0)
    // Also one whose file does not exist yet.
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/later.json", withDestinationPath: "dotfiles/later.json")
    let later = await Self.run(
      ["hooks", "install", "claude", "--file", folder + "/later.json", "--program", "cospool"]
    ).outcome
    #expect(later.exitCode == 0)
    #expect(FileManager.default.fileExists(atPath: folder + "/dotfiles/later.json"))
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/later.json")
        == "dotfiles/later.json")
    let kind = try FileManager.default.attributesOfItem(atPath: folder + "/s.json")[.type]
    #expect(kind as? FileAttributeType == .typeSymbolicLink)
    #expect(
      try String(contentsOfFile: folder + "/dotfiles/s.json", encoding: .utf8).contains("Stop"))
  }
}
