import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncDaemon

/// Commands as agents: real processes.
@Suite(.timeLimit(.minutes(5)))
struct ProcessAgentTests {
  /// The result of one turn.
  private struct Outcome {
    var result: TurnResult
    var events: [TurnEvent]

    var output: [String] {
      let bytes = events.flatMap { if case .wrote(let bytes) = $0 { bytes } else { [UInt8]() } }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  /// Each test has its own: stopping an attempt ends everything that runs under its name.
  private let message = MessageID(high: .random(in: 0 ... .max), low: 2)

  private func turn(_ prompt: String) throws -> AgentTurn {
    AgentTurn(
      session: try SessionID("review"), message: message, attempt: 3,
      prompt: prompt, folder: NSTemporaryDirectory(), project: "shop",
      dataDirectory: "/none")
  }

  private func agent(
    _ command: String, timeoutSeconds: Int? = nil, stopGrace: Duration = .milliseconds(200)
  ) throws -> ProcessAgent<CommandReader> {
    try CommandAgent.agent(command: command, timeoutSeconds: timeoutSeconds, stopGrace: stopGrace)
  }

  private func run(
    _ command: String, prompt: String = "hello", timeoutSeconds: Int? = nil
  ) async throws -> Outcome {
    let events = Mutex<[TurnEvent]>([])
    var agent = try agent(command, timeoutSeconds: timeoutSeconds)
    agent.wall = { 1_000 }
    let result = await agent.run(try turn(prompt)) { event in events.withLock { $0.append(event) } }
    return Outcome(result: result, events: events.withLock { $0 })
  }

  /// A prompt must not become an option of the agent.
  @Test(arguments: [
    ("echo {}", "--help", false), ("echo -n {}", "-x", false), ("echo -- {}", "--help", true),
    ("echo --prompt={}", "--help", true), ("echo {}", "help", true),
    ("sh -c 'echo $1' sh {}", "-x", false), ("sh -c 'echo $1' sh -- {}", "-x", false),
    ("env -- echo {}", "-x", false), ("sh -c 'echo $1' sh {}", "x", true),
    ("echo {}", "- one\n- two", true), ("echo {}", "-\u{301}x", false),
    ("echo {}", "-\u{200D}x", false), ("echo {}", "-", false),
  ])
  func promptsAreNotOptions(command: String, prompt: String, isTaken: Bool) async throws {
    let outcome = try await run(command, prompt: prompt)
    if case .failed(let reason) = outcome.result {
      #expect(!isTaken && reason.contains("read as an option"), "\(reason)")
    } else {
      #expect(isTaken, "\(outcome.result)")
    }
  }

  @Test(arguments: [
    "sh -c 'agent {}'", "/bin/bash -lc \"agent {}\"", "bash -e -c 'echo {}'",
    "/usr/bin/env sh -c 'echo {}'",
    "nice bash -c 'agent {}'", "sudo -u other sh -c {}", "sh -c {}", "bash -c -- {}",
    "bash -c -o pipefail {}",
    "python3 -c {}", "python3 -c 'print({})'", "perl -we {}", "node --eval={}", "node -e {}",
    "env -S {}",
    "ssh HOST agent {}", "ssh HOST 'agent {}'", "watch agent {}", "tmux new-session {}", "bash {}",
    "env A=1 {}",
    "timeout 5 {}", "{}", "{} --help", "agent x{}", "agent prompt={}", "agent --a b={}",
    "sh -c 'exec \"$@\"' sh sh -c {}",
    "awk {}", "gawk -F : {}", "sed {} /etc/hostname", "python3.11 {}",
    "/usr/bin/python3.11 -W ignore {}",
    "bash -o pipefail {}", "bash -O extglob {}", "bash +e {}", "timeout -s KILL 5 {}",
    "flock /tmp/lock {}",
    "chroot /srv {}", "env -u FOO {}", "env -C /tmp {}", "sudo -u other {}", "sudo -u other -- {}",
    "npx {}",
    "npx -p thing {}", "chrt 5 {}", "nix-shell --run {}", "powershell -Command {}", "erl -eval {}",
    "agent --EVAL={}",
    "node -r thing {}", "tclsh8.6 {}", "xvfb-run {}", "agent --run={}",
    "tar --checkpoint-action={}", "node --print={}", "node --require={} x.js", "man --pager={} x",
    "rsync --rsh={} a b", "find {} -delete", "find . -fprintf {} x", "vim --cmd {}", "gdb -ex {}",
    "tar -I {} -cf a b", "csh {}", "mksh {}", "rbash {}", "Bash-5.2 {}", "/bin/bash.exe {}",
    "tini -- {}", "docker exec box {}", "kubectl exec pod -- {}", "npm exec {}", "uv run {}",
    "nsenter -t 1 {}", "su-exec me {}", "/lib64/ld-linux-x86-64.so.2 {}",
  ])
  func promptsAreNotScripts(command: String) {
    #expect(throws: CommandLineFault.self) {
      try CommandAgent.agent(command: command, timeoutSeconds: nil)
    }
  }

  @Test(arguments: [
    "agent {}", "agent --prompt {}", "agent --prompt={}", "agent -p {} --json", "agent -- {}",
    "env A=1 agent {}",
    "nice -n 5 agent {}", "sh -c 'agent \"$1\"' sh {}", "python3 agent.py {}",
    "timeout 60 agent {}",
    "sh -c 'agent < /dev/stdin'",
    "python3.11 -u agent.py {}", "python3 -W ignore agent.py {}", "python3 -m agent {}",
    "sudo -u other agent {}",
    "sudo -E agent {}", "timeout -s KILL 60 agent {}", "flock /tmp/lock agent {}",
    "npx @openai/agent {}",
    "env -u FOO agent {}", "bash -o pipefail agent.sh {}", "node agent.js {}", "agent run {}",
    "codex exec {}", "agent --system-prompt={}", "agent --message={}", "docker exec box agent {}",
    "kubectl exec pod -- agent {}", "uv run agent.py {}", "tini -- agent {}",
    "java -jar agent.jar {}", "npm exec agent {}",
  ])
  func commandsThatTakeAPromptAsDataAreTaken(command: String) throws {
    _ = try CommandAgent.agent(command: command, timeoutSeconds: nil)
  }

  /// Most options of Codex belong to `exec`, and are refused before that word.
  @Test(arguments: [
    ("codex", "codex exec"), ("/opt/codex --model fast", "/opt/codex exec --model fast"),
    ("codex exec --skip-git-repo-check", "codex exec --skip-git-repo-check"),
    ("npx @openai/codex@latest --full-auto", "npx @openai/codex@latest exec --full-auto"),
    ("env A=1 codex -c x=y", "env A=1 codex exec -c x=y"), ("mine -m fast", "mine exec -m fast"),
    ("mine exec -m fast", "mine exec -m fast"), ("env A=1 mine", "env A=1 mine exec"),
  ]) func codexRunsExec(given: String, run: String) {
    let words = PresetAgents.runningExec(given.split(separator: " ").map(String.init))
    #expect(words.joined(separator: " ") == run)
  }

  @Test func thePromptComesByStandardInput() async throws {
    let outcome = try await run("cat", prompt: "first line\nlast line")
    #expect(outcome.result == .succeeded(summary: "last line"))
    #expect(outcome.output == ["first line", "last line"])
    #expect(outcome.events.contains(.started))
  }

  @Test func thePromptComesAsAnArgumentAsItIs() async throws {
    let prompt = "it's \"quoted\" $HOME `id` \\ *\nand has lines"
    let outcome = try await run("printf '%s' {}", prompt: prompt)
    #expect(outcome.output.joined(separator: "\n") == prompt)
  }

  /// An argument ends at a NUL and has a maximum length: the agent would get only a part, or not
  /// start.
  @Test func promptsThatFitNoArgumentAreRefused() async throws {
    for prompt in ["before\0after", String(repeating: "x", count: 131_072)] {
      let outcome = try await run("echo {}", prompt: prompt)
      guard case .failed(let reason) = outcome.result else {
        Issue.record("\(outcome.result)")
        continue
      }
      #expect(reason.hasSuffix("so that it gets the prompt on standard input"))
      #expect(outcome.output == [])
      let whole = try await run("wc -c", prompt: prompt)
      #expect(whole.result == .succeeded(summary: "\(prompt.utf8.count)"))
    }
    let most = String(repeating: "x", count: 131_071)
    #expect(try await run("sh -c 'echo ${#0}' {}", prompt: most).output == ["131071"])
  }

  /// The system would cut the text there, and an agent would start with the wrong text.
  @Test(
    arguments: [
      ("echo 'a%b'", nil, nil, "An argument of the agent's command"),
      ("/bin/echo%x", nil, nil, "An argument of the agent's command"),
      ("echo", "shop%x", nil, "COSPOOL_PROJECT in the agent's environment"),
      ("echo", nil, "/tmp%/x", "The folder of the project"),
    ] as [(String, String?, String?, String)])
  func aZeroByteStartsNothing(
    command: String, project: String?, folder: String?, place: String
  ) async throws {
    let withZero = { (text: String) in text.replacingOccurrences(of: "%", with: "\0") }
    var turn = try turn("hello")
    if let project { turn.project = withZero(project) }
    if let folder { turn.folder = withZero(folder) }
    let events = Mutex<[TurnEvent]>([])
    let result = try await agent(withZero(command)).run(turn) { event in
      events.withLock { $0.append(event) }
    }
    guard case .notStarted(let reason) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(
      reason.hasSuffix("\(place) contains a NUL character, at which it would be cut: remove it"))
    #expect(events.withLock { $0 } == [])
  }

  /// Claude Code gives each of its shells a session of its own, which signals to its group do not
  /// reach.
  @Test func stoppedAgentsLeaveNoToolsInOtherSessions() async throws {
    let children = Mutex<[pid_t]>([])
    let agent = try agent(
      #"sh -c 'setsid sleep 1000 & echo $!; setsid sh -c "trap : TERM; echo \$\$; while :; do sleep 0.1; done" & wait; wait; wait'"#
    )
    let turn = try turn("")
    let (lines, continuation) = AsyncStream<Void>.makeStream()
    let task = Task {
      await agent.run(turn) { event in
        guard case .wrote(let bytes) = event else { return }
        let found = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let count = children.withLock { children in
          children += found.compactMap { pid_t($0) }
          return children.count
        }
        if count == 2 { continuation.yield() }
      }
    }
    for await _ in lines { break }
    task.cancel()
    _ = await task.value
    // It happens at once, because the next message starts at once.
    for child in children.withLock({ $0 }) { #expect(!Processes.isAlive(child)) }
  }

  @Test func anUnreadPromptBlocksNothing() async throws {
    let prompt = String(repeating: "x", count: 3_000_000)
    #expect(try await run("true", prompt: prompt).result == .succeeded(summary: ""))
  }

  @Test func theEnvironmentNamesTheTurn() async throws {
    let outcome = try await run(
      "sh -c 'echo $COSPOOL_SESSION $COSPOOL_PROJECT $COSPOOL_MESSAGE $COSPOOL_ATTEMPT'")
    #expect(
      outcome.output == ["review shop \(message) 3"])
  }

  @Test func theDaemonsEnvironmentIsPassedOn() async throws {
    let path = try #require(ProcessInfo.processInfo.environment["PATH"])
    let outcome = try await run("sh -c 'env'")
    #expect(outcome.output.filter { $0.hasPrefix("PATH=") } == ["PATH=\(path)"])
  }

  @Test func exitCodesSayHowItEnded() async throws {
    let failed = try await run("sh -c 'echo working; echo no disk >&2; echo gave up; exit 3'")
    // The last text on standard error has the reason; otherwise its last line.
    #expect(failed.result == .failed("exit code 3: no disk"))
    #expect(Set(failed.output) == ["working", "no disk", "gave up"])
    let quiet = try await run("sh -c 'echo gave up; exit 3'")
    #expect(quiet.result == .failed("exit code 3: gave up"))
    let silent = try await run("sh -c 'echo no such model >&2; exit 127'")
    #expect(silent.result == .failed("exit code 127: no such model"))
    let later = try await run("sh -c 'exit 75'")
    #expect(
      later.result
        == .tryAfter(
          60_000, reason: "the command asked for another try later (exit code 75)"))
    let killed = try await run("sh -c 'kill -9 $$'")
    #expect(killed.result == .died("signal 9"))
  }

  /// Text after a carriage return replaces the line, as in a terminal; at the end of a line, it is
  /// a part of the line end.
  @Test func progressBarsHideNothing() {
    func last(_ text: String) -> String {
      var line = LastLine()
      line.received(Array(text.utf8))
      return line.text
    }
    let bar = (1...300).map { "\r\($0 % 100)%" }.joined()
    #expect(last(bar + "\rfatal: no space") == "fatal: no space")
    #expect(last("fatal: no space\r\n" + bar + "\r   \r") == "fatal: no space")
    #expect(last("fatal: no space\r\n\r\n") == "fatal: no space")
    #expect(last("50%\r") == "50%")
  }

  @Test func aLimitWithoutATimeIsTriedLessAndLessOften() {
    let waits = [1, 2, 3, 6, 7, 60, UInt16.max].map {
      TurnResult.tryingLater(until: nil, reason: "limit", attempt: $0)
    }
    #expect(
      waits
        == [60, 120, 240, 1_920, 3_600, 3_600, 3_600].map {
          .tryAfter($0 * 1_000, reason: "limit")
        })
    #expect(
      TurnResult.tryingLater(until: 5, reason: "limit", attempt: 9) == .tryLater(5, reason: "limit")
    )
  }

  @Test(arguments: ["/nowhere/agent", "no-such-agent"])
  func anAgentThatCannotStartIsNotStarted(program: String) async throws {
    let outcome = try await run("\(program) {}")
    guard case .notStarted(let reason) = outcome.result else {
      Issue.record("\(outcome.result)")
      return
    }
    #expect(reason.contains(program))
    #expect(!outcome.events.contains(.started))
  }

  /// Three attempts with a prompt that an agent got would do its work three times.
  @Test func anAttemptThatRanCountsAsStarted() throws {
    struct Lost: Error {}
    typealias Agent = ProcessAgent<CommandReader>
    let ran = Agent.outcome(of: Lost(), program: "agent", started: true)
    #expect(ran == .lost("cannot wait for agent: Lost()"))
    let absent = Agent.outcome(of: Lost(), program: "agent", started: false)
    #expect(absent == .notStarted("agent: Lost()"))
  }

  /// No agent got the prompt, though the command exists.
  @Test func messagesStoppedBeforeTheirBeginningAreNotStarted() async throws {
    let agent = try agent("true")
    let turn = try turn("")
    let (gate, open) = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate {}
      return await agent.run(turn) { _ in }
    }
    task.cancel()
    open.finish()
    #expect(await task.value == .notStarted("the agent was stopped"))
  }

  /// Its work before it was killed is unknown, whatever its limit.
  @Test func killedAgentsAreNotTriedLater() async throws {
    let limit = #"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}"#
    let file = NSTemporaryDirectory() + "cospool-limit-\(UUID().uuidString)"
    try Data((limit + "\n").utf8).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    for (end, isKilled) in [("kill -9 $$", true), ("exit 1", false)] {
      let agent = try PresetAgents.claude(
        command: "sh -c 'cat \(file); \(end)'", timeoutSeconds: nil)
      let result = await agent.run(try turn("")) { _ in }
      switch result {
      case .died: #expect(isKilled)
      case .tryLater, .tryAfter: #expect(!isKilled)
      case let other: Issue.record("\(other)")
      }
    }
  }

  /// Even with a time limit, the agent's report at its stop counts.
  @Test(arguments: [nil, 600])
  func aSuccessDuringAStopIsASuccess(timeoutSeconds: Int?) async throws {
    let agent = try agent(
      #"sh -c 'trap "echo all done; exit 0" TERM; echo ready; while :; do sleep 0.1; done'"#,
      timeoutSeconds: timeoutSeconds, stopGrace: .seconds(60))
    let turn = try turn("")
    let (lines, continuation) = AsyncStream<Void>.makeStream()
    let task = Task {
      await agent.run(turn) { event in if case .wrote = event { continuation.yield() } }
    }
    for await _ in lines { break }
    task.cancel()
    #expect(await task.value == .succeeded(summary: "all done"))
  }

  @Test func aCommandThatTakesTooLongIsStopped() async throws {
    let outcome = try await run("sh -c 'sleep 1000 & wait'", timeoutSeconds: 1)
    #expect(
      outcome.result == .failed("the agent took longer than 1 seconds and was stopped"))
  }

  /// A turn ends with its process; processes that it left behind are stopped.
  @Test func itsChildrenEndWithIt() async throws {
    let outcome = try await run("sh -c 'sleep 1000 & echo $!'")
    guard case .succeeded(let text) = outcome.result, let child = pid_t(text) else {
      Issue.record("\(outcome.result)")
      return
    }
    try await Processes.expectGone(child)
  }

  @Test func cancellingStopsTheWholeFamily() async throws {
    let child = Mutex<pid_t>(0)
    let agent = try agent(#"sh -c 'trap "" TERM; sleep 1000 & echo $!; wait; wait'"#)
    let turn = try turn("")
    let (lines, continuation) = AsyncStream<String>.makeStream()
    let task = Task {
      await agent.run(turn) { event in
        guard case .wrote(let bytes) = event else { return }
        continuation.yield(
          String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines))
      }
    }
    for await line in lines {
      child.withLock { $0 = pid_t(line) ?? 0 }
      break
    }
    task.cancel()
    let result = await task.value
    if case .succeeded = result { Issue.record("\(result)") }
    #expect(child.withLock { $0 } > 0)
    try await Processes.expectGone(child.withLock { $0 })
  }

  @Test func commandsAreSplitAsAShellDoes() throws {
    #expect(
      try CommandWords.split(" a  'b c' \"d \\\" e\" f\\ g ''") == [
        "a", "b c", "d \" e", "f g", "",
      ])
    #expect(try CommandWords.split("a\\b \"c\\d\"") == ["ab", "c\\d"])
    #expect(throws: CommandLineFault.self) { try CommandWords.split("a 'b") }
    #expect(throws: CommandLineFault.self) { try CommandWords.split("a \\") }
  }
}
