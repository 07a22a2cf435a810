import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncDaemon

/// Programs that speak the Agent Client Protocol: real processes of a stand-in.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ACPAgentTests {
  /// A folder that records what the stand-in gets.
  private final class Bed {
    let folder: String
    private(set) var events: [TurnEvent] = []

    init() throws {
      signal(SIGPIPE, SIG_IGN)
      folder = FileManager.default.temporaryDirectory.path + "/acp-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func lines(_ name: String) -> [String] {
      let data = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
      return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func agent(
      _ options: String = "", ask: @escaping OpencodeAgent.Asker = { _, _ in nil }
    ) throws -> ACPAgent {
      let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Scripts/fake_acp.py")
        .path(percentEncoded: false)
      var agent = try ACPAgent(
        command: "python3 '\(script)' '\(folder)' \(options)", timeoutSeconds: 120, ask: ask)
      agent.cancelGrace = .seconds(1)
      agent.stopGrace = .milliseconds(200)
      return agent
    }

    func turn(_ prompt: String, conversation: String? = nil) throws -> AgentTurn {
      AgentTurn(
        session: try SessionID("review"),
        message: MessageID(high: .random(in: 0 ... .max), low: 2), attempt: 1, prompt: prompt,
        folder: NSTemporaryDirectory(), conversation: conversation, dataDirectory: folder)
    }

    func run(
      _ agent: ACPAgent, _ prompt: String, conversation: String? = nil
    ) async throws -> TurnResult {
      let seen = Mutex<[TurnEvent]>([])
      let result = await agent.run(try turn(prompt, conversation: conversation)) { event in
        seen.withLock { $0.append(event) }
      }
      events = seen.withLock { $0 }
      return result
    }
  }

  @Test func aPromptRunsAndItsConversationIsContinued() async throws {
    let bed = try Bed()
    let first = try await bed.run(try bed.agent(), "first")
    #expect(first == .succeeded(summary: "All tests pass."))
    #expect(bed.events.filter { $0 == .started }.count == 1)
    #expect(bed.events.contains(.said(.session("s1"))))
    #expect(bed.events.contains(.said(.progress(completed: 1, total: 2, current: "Mend"))))
    #expect(bed.events.contains(.said(.toolStarted(id: "c1", name: "Run make"))))
    let second = try await bed.run(try bed.agent(), "second", conversation: "s7")
    #expect(second == .succeeded(summary: "All tests pass."))
    #expect(!bed.events.contains(.said(.text("the past"))))
    #expect(bed.lines("prompts") == ["s1|first", "s7|second"])
    // It cannot continue a session, and gets a new one.
    _ = try await bed.run(try bed.agent("plain"), "third", conversation: "s7")
    #expect(bed.lines("prompts").last == "s1|third")
  }

  @Test(arguments: [
    ("refuses", "refused to continue"), ("too many tokens", "max_tokens"),
    ("too many requests", "max_turn_requests"), ("fails", "Internal error: no key"),
  ])
  func endsThatAreNoneAreFailures(prompt: String, words: String) async throws {
    let bed = try Bed()
    let result = try await bed.run(try bed.agent(), prompt)
    guard case .failed(let reason) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(reason.contains(words), "\(reason)")
    #expect(bed.lines("prompts").count == 1)
  }

  @Test func itsRequestsGoToUsers() async throws {
    let bed = try Bed()
    let asked = Mutex<[AgentAsk]>([])
    let agent = try bed.agent { ask, _ in
      asked.withLock { $0.append(ask) }
      guard case .question(let text, _) = ask else { return AskAnswer(ending: .allowed) }
      if text.contains("https://") { return AskAnswer(ending: .answered, text: "opened") }
      return AskAnswer(ending: .answered, text: "kind: fast\ntries: 2\ndry: yes")
    }
    #expect(
      try await bed.run(agent, "asks, a form, opens") == .succeeded(summary: "All tests pass."))
    #expect(
      bed.lines("told") == [
        #"{"outcome": {"optionId": "once", "outcome": "selected"}}"#,
        #"{"action": "accept", "content": {"dry": true, "kind": "fast", "tries": 2}}"#,
        #"{"action": "accept"}"#,
      ])
    let first = asked.withLock { $0.first }
    #expect(
      first?.text?.contains("make deploy") == true && first?.text?.contains("/srv/Makefile") == true
        && first?.text?.contains("Run make") == true)
  }

  /// Lists and notices show only the summary.
  @Test func aYesToMoreThanThisOnceComesFirst() async throws {
    let bed = try Bed()
    let summary = Mutex("")
    let agent = try bed.agent { ask, _ in
      if case .approval(_, let text, _) = ask { summary.withLock { $0 = text } }
      return AskAnswer(ending: .allowed)
    }
    #expect(try await bed.run(agent, "always") == .succeeded(summary: "All tests pass."))
    #expect(
      summary.withLock { $0 } == "Always (For this session): make deploy (and 2 more fields)")
    #expect(bed.lines("told") == [#"{"outcome": {"optionId": "all", "outcome": "selected"}}"#])
  }

  @Test func anUnansweredRequestIsDeniedAndWhatIsAskedTwiceIsAnsweredOnce() async throws {
    let bed = try Bed()
    let count = Mutex(0)
    let agent = try bed.agent { _, _ in
      count.withLock { $0 += 1 }
      return nil
    }
    #expect(try await bed.run(agent, "asks twice") == .succeeded(summary: "All tests pass."))
    #expect(
      bed.lines("told") == [
        #"{"outcome": {"optionId": "no", "outcome": "selected"}}"#,
        #"{"outcome": {"outcome": "cancelled"}}"#,
      ])
    #expect(count.withLock { $0 } == 2)
  }

  @Test func liesDoNoHarm() async throws {
    let bed = try Bed()
    #expect(try await bed.run(try bed.agent(), "lies") == .succeeded(summary: "All tests pass."))
    #expect(bed.lines("told") == ["-32601", "-32602"])
    let early = try await bed.run(try bed.agent("early"), "second")
    guard case .notStarted = early else {
      Issue.record("an answer that came before its prompt counted: \(early)")
      return
    }
    #expect(bed.lines("prompts") == ["s1|lies"])
  }

  /// The program dies after each line of the exchange: no success before the prompt, and no further
  /// attempt after it.
  @Test(arguments: Array(1...16))
  func anAgentThatDiesHasThePromptOnce(line: Int) async throws {
    let bed = try Bed()
    let agent = try bed.agent("die=\(line)") { _, _ in AskAnswer(ending: .allowed) }
    try check(try await bed.run(agent, "asks"), bed)
  }

  /// The same, at bytes of its output that a seed chooses.
  @Test func anAgentThatIsCutHasThePromptOnce() async throws {
    let seed = Int.random(in: 0..<60)
    for start in stride(from: seed, to: 1_500, by: 60) {
      let bed = try Bed()
      let agent = try bed.agent("cut=\(start)") { _, _ in AskAnswer(ending: .allowed) }
      try check(try await bed.run(agent, "asks"), bed, "cut at \(start)")
    }
  }

  private func check(_ result: TurnResult, _ bed: Bed, _ note: Comment = "") throws {
    let prompts = bed.lines("prompts")
    switch result {
    case .notStarted: #expect(prompts == [], note)
    case .succeeded: #expect(prompts == ["s1|asks"], note)
    case .died: #expect(prompts.count <= 1, note)
    case .failed, .tryLater, .tryAfter: Issue.record("\(result)")
    }
    // The note for a crash of the daemon is removed with the turn.
    let left = try? FileManager.default.contentsOfDirectory(atPath: bed.folder + "/turns")
    #expect(left ?? [] == [], note)
  }

  @Test(arguments: [("hangs", true), ("hangs, deaf", false)])
  func aTurnThatIsStoppedEnds(prompt: String, isTold: Bool) async throws {
    let bed = try Bed()
    let agent = try bed.agent()
    let turn = try bed.turn(prompt)
    let running = Task { await agent.run(turn) { _ in } }
    while bed.lines("prompts").isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    running.cancel()
    let result = await running.value
    if case .succeeded = result { Issue.record("\(result)") }
    #expect(bed.lines("told") == (isTold ? ["session/cancel"] : []))
  }

  @Test func anAgentThatClosesItsOutputIsEnded() async throws {
    let bed = try Bed()
    var agent = try bed.agent()
    agent.exitGrace = .milliseconds(200)
    let result = try await bed.run(agent, "shuts")
    #expect(
      result == .died("The agent ended before its turn was complete (it closed its output)."))
  }

  @Test func anAgentThatNeverAnswersGetsNoPrompt() async throws {
    let bed = try Bed()
    var agent = try bed.agent("mute")
    agent.openingLimit = .milliseconds(300)
    let result = try await bed.run(agent, "first")
    guard case .notStarted(let reason) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(reason.contains("did not begin a conversation within 0 seconds"))
    #expect(bed.lines("prompts") == [])
  }

  @Test func aProgramThatIsNotThereIsNotStarted() async throws {
    let bed = try Bed()
    let agent = try ACPAgent(command: "/nowhere/agent --acp", timeoutSeconds: nil) { _, _ in nil }
    guard case .notStarted = try await bed.run(agent, "first") else {
      Issue.record("it was started")
      return
    }
  }

  @Test func itsLastWordsSayWhyItEnded() async throws {
    let bed = try Bed()
    let agent = try ACPAgent(
      command: "sh -c 'echo no key >&2; exit 7'", timeoutSeconds: nil
    ) { _, _ in nil }
    #expect(
      try await bed.run(agent, "first")
        == .notStarted("The agent ended before it took the prompt (exit code 7): no key"))
  }

  /// After a crash, the daemon knows that an attempt's prompt was not sent.
  @Test func theJournalKnowsWhatWasNotSent() throws {
    let bed = try Bed()
    let folders = TurnFolders(dataDirectory: bed.folder)
    let message = MessageID(high: 1, low: 2)
    folders.noteUnsent(message, attempt: 1)
    #expect(folders.isUnsent(message, attempt: 1))
    #expect(!folders.isUnsent(message, attempt: 2))
    try folders.noteSending(message, attempt: 1)
    #expect(!folders.isUnsent(message, attempt: 1))
    try folders.noteSending(message, attempt: 1)
  }
}
