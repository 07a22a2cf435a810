import AgentFormats
import LocalAPI
import QueueModel

/// An agent that works on prompts, one turn at a time: a command, or a program with a preset.
///
/// The executor calls `run` once for each attempt that it was allowed to start. Cancelling the task
/// stops the agent; `run` returns only when all of the agent's processes have ended.
protocol Agent: Sendable {
  /// Works on one prompt until the turn ends.
  ///
  /// - Parameter report: receives the events of the turn, in order; it must not block.
  /// - Returns: how the turn ended. After a cancellation only `.succeeded` counts.
  func run(_ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void) async -> TurnResult

  /// The folder that a turn works in; nil if the agent chooses it.
  ///
  /// - Parameter otherwise: the folder for a session without a project.
  /// - Throws: if the project does not exist; then nothing may start.
  func folder(
    of project: String?, otherwise: String
  ) throws(ProjectFolder.Missing) -> String?
}

extension Agent {
  func folder(
    of project: String?, otherwise: String
  ) throws(ProjectFolder.Missing) -> String? {
    try ProjectFolder.here(project, otherwise: otherwise).path
  }
}

/// One attempt at one message.
struct AgentTurn: Hashable, Sendable {
  var session: SessionID
  var message: MessageID
  /// From 1; the same message may come again with a greater one.
  var attempt: UInt16
  /// The text, exactly as it was granted.
  var prompt: String
  /// The folder to work in; nil if the agent chooses it.
  var folder: String?
  /// The session's name of the project.
  var project: String?
  /// The agent's own id of the conversation so far, if an earlier turn reported one.
  var conversation: String?
  /// The daemon's data directory, so that Cospool programs that the agent runs find its daemon.
  var dataDirectory: String
  /// The message's files; nil if it has none.
  var files: TurnFiles?
  /// How the agent makes requests to the daemon; nil if the agent has no process of its own.
  var access: Access?

  /// The socket of the agents, and the token of the turn.
  struct Access: Hashable, Sendable {
    var socket: String
    var token: String
  }

  /// The variables in the environment of every agent's process.
  var environment: [String: String] {
    var environment = [
      "COSPOOL_SESSION": session.rawValue,
      "COSPOOL_MESSAGE": message.description,
      "COSPOOL_ATTEMPT": "\(attempt)",
      "COSPOOL_DATA": dataDirectory,
    ]
    environment["COSPOOL_PROJECT"] = project
    environment["COSPOOL_FILES"] = files?.folder
    environment["COSPOOL_SOCKET"] = access?.socket
    environment["COSPOOL_TOKEN"] = access?.token
    return environment
  }

  /// The prompt for an agent that can read files, followed by the paths of the files.
  var promptWithFiles: String { prompt(naming: files?.files ?? []) }

  /// The prompt, followed by the paths of some files.
  func prompt(naming files: [TurnFiles.File]) -> String {
    guard !files.isEmpty else { return prompt }
    return prompt + "\n\nAttached files:\n" + files.map(\.path).joined(separator: "\n")
  }
}

/// An event while an agent works.
enum TurnEvent: Hashable, Sendable {
  /// Its process runs.
  case started
  /// What the agent reports in its output: tools, approvals, its own id of the conversation.
  case said(AgentEvent)
  /// The agent's output for the log, as a terminal would show it.
  case wrote([UInt8])
}

/// The command line of an agent.
struct AgentCommandLine: Hashable, Sendable {
  /// The program, by path or by name on `PATH`, and its arguments.
  var words: [String]
  /// The text for standard input, which is then closed.
  var input: String?
}

extension TurnResult {
  /// How long a message waits before another attempt if the agent names no time: the first wait,
  /// and the longest.
  static let waitMilliseconds: Int64 = 60_000
  static let waitMillisecondsMax: Int64 = 3_600_000

  /// - Parameters:
  ///   - until: in milliseconds since 1970; nil if the agent names no time.
  ///   - attempt: the wait doubles with each attempt, since each may leave the prompt in the
  ///     agent's conversation.
  static func tryingLater(until: Int64?, reason: String, attempt: UInt16 = 1) -> TurnResult {
    if let until { return .tryLater(until, reason: reason) }
    let wait = waitMilliseconds << Int64(min(max(attempt, 1) - 1, 6))
    return .tryAfter(min(wait, waitMillisecondsMax), reason: reason)
  }
}
