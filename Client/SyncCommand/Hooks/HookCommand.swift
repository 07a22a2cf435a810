import AgentFormats
import ArgumentParser
import Basics
import LocalAPI

/// `cospool hook`
struct HookCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "hook",
    abstract: "Report an agent's event to the daemon; agents run this as a hook.",
    discussion: """
      EXAMPLES
        echo '{"hook_event_name":"Stop","session_id":"abc"}' | cospool hook

      Reads the event that the agent writes to stdin, as JSON. The queue's session has the same id
      as the agent's session, unless --session or $COSPOOL_SESSION names another one.

      The hook never blocks an agent: if anything goes wrong, it writes nothing and exits with 0
      within --timeout seconds, and the agent continues as if there were no hook. --explain reports on
      stderr what went wrong. Agents that Cospool started need no hook, so it ignores their events.
      """)

  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp(
      "The queue's session. Default: the id of the agent's own session.", valueName: "session"),
    completion: .sessions)
  var session: String?
  @Option(help: ArgumentHelp("The seconds that it may take, 0.1 to 60.", valueName: "seconds"))
  var timeout: Double = 5
  @Option(
    help: ArgumentHelp(
      "Ask for permission on all devices, and wait this many seconds for an answer, at most 600.",
      valueName: "seconds"))
  var approvals: Double?
  @Flag(
    help: "Ask for permission on all devices, and wait as long as approvalPatience.")
  var ask = false
  @Flag(help: "Give the next queued prompt to the agent when its turn ends.")
  var feed = false
  @Flag(help: "Report on stderr what went wrong.")
  var explain = false
  @OptionGroup var options: GlobalOptions

  /// The time between two checks whether the asking agent still exists.
  static let lookPeriod = Duration.seconds(1)
  /// The maximum bytes of an event; a tool's input can be a whole file.
  static let bytesMax = 16 << 20

  func run(in environment: Environment) async throws -> String {
    do {
      return try await withThrowingTaskGroup(of: String.self) { tasks in
        tasks.addTask { try await answer(in: environment) }
        tasks.addTask {
          let waiting = patience ?? (ask ? HookApproval.patienceSecondsMax : nil)
          let limit = seconds + (waiting.map { $0 + HookApproval.closingSeconds } ?? 0)
          try await Task.sleep(for: .seconds(limit))
          throw CommandFailure(
            code: "timeout", message: "The hook took longer than \(limit) seconds.",
            exitCode: ExitStatus.tryLater)
        }
        if ask || patience != nil, let agent = HookCaller.current() {
          // Its request is withdrawn with this process.
          tasks.addTask {
            while agent.isAlive { try await Task.sleep(for: HookCommand.lookPeriod) }
            throw CommandFailure(
              code: "agentGone", message: "The agent that asked has ended.",
              exitCode: ExitStatus.failed)
          }
        }
        defer { tasks.cancelAll() }
        return try await tasks.next() ?? ""
      }
    } catch {
      // The agent must not notice.
      if explain { environment.complain(CommandRunner.failure(of: error).text) }
      return ""
    }
  }

  /// How long it may take.
  private var seconds: Double { min(max(0.1, timeout), 60) }

  /// How long it waits for a user, if an option or the setting limits it.
  private var patience: Double? {
    approvals.map { min(max(0.1, $0), HookApproval.patienceSecondsMax) }
  }

  private func answer(in environment: Environment) async throws -> String {
    // An agent that the executor started reports by its output.
    guard (environment.variables["COSPOOL_MESSAGE"] ?? "").isEmpty else { return "" }
    var bytes: [UInt8] = []
    for await piece in environment.pieces() {
      bytes += piece
      guard bytes.count <= HookCommand.bytesMax else {
        throw CommandFailure(
          code: "eventTooLong", message: "The event has more than \(HookCommand.bytesMax) bytes.",
          exitCode: ExitStatus.failed)
      }
    }
    guard let event = HookEvent(bytes) else {
      throw CommandFailure(
        code: "unknownEvent", message: "stdin contains no event that this version knows.",
        exitCode: ExitStatus.failed)
    }
    let named = session ?? environment.session
    // A script that runs the agent has no conversation with a user, unless it names one.
    guard named != nil || !HookCaller.isHeadless(environment.variables) else { return "" }
    let connection = DaemonConnection(
      dataDirectory: try environment.dataDirectory(flag: options.data))
    let id = try await conversation(of: event, named: named, connection)
    if feed,
      let request = try HookFeed.request(
        of: event, session: id, seconds: seconds, caller: HookCaller.current(),
        variables: environment.variables, now: environment.style.milliseconds)
    {
      let answer = try await tell(request, of: event, session: id, connection)
      // That request reported the end of the turn, too.
      if event.name == .stop { return answer.map(HookFeed.answer) ?? "" }
      if event.name == .stopFailure { return "" }
    }
    for request in try event.requests(for: id) {
      try await tell(request, of: event, session: id, connection)
    }
    guard ask || patience != nil,
      let request = try HookApproval.request(of: event, session: id, patience: patience)
    else {
      // If the agent waits for its user at its own prompt, other devices show that.
      if let request = try HookApproval.prompt(of: event, session: id) {
        try await tell(request, of: event, session: id, connection)
      }
      return ""
    }
    guard let decision = try await tell(request, of: event, session: id, connection) else {
      return ""
    }
    let text = HookApproval.answer(decision)
    if !text.isEmpty {
      // Only the decision matters; the agent's next event reports the same.
      _ = try? await connection.answer(to: try event.answered(id))
    }
    return text
  }

  /// The session of the event's conversation, whatever id the agent has for it now.
  private func conversation(
    of event: HookEvent, named: String?, _ connection: DaemonConnection
  ) async throws -> String {
    let body = event.conversation(named: named, caller: HookCaller.current())
    // A session that a user named needs no look-up.
    guard body.type != nil || named == nil else { return named ?? event.agentSession }
    do {
      let answer = try await connection.answer(
        to: APIRequest(.post, ["conversations", event.agentSession], body: body))
      return try answer.decoded(ConversationAnswer.self).session
    } catch let failure as CommandFailure where failure.code == "unknownRoute" {
      // A daemon of an older version.
      return named ?? event.agentSession
    }
  }

  /// Sends a request; a session that the daemon does not know yet is made known.
  @discardableResult
  private func tell(
    _ request: APIRequest, of event: HookEvent, session: String, _ connection: DaemonConnection
  ) async throws -> Answer? {
    do {
      return try await connection.answer(to: request)
    } catch let failure as CommandFailure where failure.code == "sessionNotFound" {
      _ = try await connection.answer(to: try event.known(session))
      return try await connection.answer(to: request)
    } catch let failure as CommandFailure where failure.code == "threadQueueOff" {
      // A device without a thread queue cannot lock it.
      return nil
    }
  }
}
