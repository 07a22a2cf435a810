import AgentFormats
import LocalAPI
import QueueModel

/// Something that works on prompts, one turn at a time: a command, or a program with a preset.
///
/// The executor calls `run` once for each attempt it was allowed to start, and never twice for one.
/// Cancelling the task stops the agent; `run` returns only when nothing of it is left.
protocol Agent: Sendable {
  /// Works on one prompt until the turn is over.
  ///
  /// - Parameter report: takes what happens meanwhile, in order; it does not wait for anything slow.
  /// - Returns: how the turn ended. After a cancellation the answer counts only where it is
  ///   `.succeeded`.
  func run(_ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void) async -> TurnResult

  /// The folder that a turn works in; nil where that is the agent's own matter.
  ///
  /// - Parameter otherwise: the folder for a session without a project.
  /// - Throws: where the project is not there: nothing may start.
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
  /// The text, exactly as it was let out.
  var prompt: String
  /// The folder to work in; nil where that is the agent's own matter.
  var folder: String?
  /// The name of the project, as the session has it.
  var project: String?
  /// The agent's own id of the conversation so far, where an earlier turn reported one.
  var conversation: String?
  /// The daemon's, so that what the agent runs of Cospool finds its daemon.
  var dataDirectory: String
  /// The message's files; nil where it has none.
  var files: TurnFiles?
  /// How it asks the daemon for something; nil where it has no process of its own.
  var access: Access?

  /// The socket of the agents, and the token of the turn.
  struct Access: Hashable, Sendable {
    var socket: String
    var token: String
  }

  /// What every agent's process finds in its environment.
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

  /// The prompt for an agent that reads, with the paths of the files behind it.
  var promptWithFiles: String { prompt(naming: files?.files ?? []) }

  /// The prompt with the paths of some files behind it.
  func prompt(naming files: [TurnFiles.File]) -> String {
    guard !files.isEmpty else { return prompt }
    return prompt + "\n\nAttached files:\n" + files.map(\.path).joined(separator: "\n")
  }
}

/// What happens while an agent works.
enum TurnEvent: Hashable, Sendable {
  /// Its process runs.
  case started
  /// What its output says: tools, approvals, its own id of the conversation.
  case said(AgentEvent)
  /// What it wrote, for the log: what people would see in a terminal.
  case wrote([UInt8])
}

/// What to start.
struct AgentCommandLine: Hashable, Sendable {
  /// The program, by path or by name on `PATH`, and its arguments.
  var words: [String]
  /// What goes to standard input, which is then closed.
  var input: String?
}

extension TurnResult {
  /// How long a message waits that is to be tried later, where nobody says when: the first time, and at most.
  static let waitMilliseconds: Int64 = 60_000
  static let waitMillisecondsMax: Int64 = 3_600_000

  /// - Parameters:
  ///   - until: in milliseconds since 1970; nil where nobody says when.
  ///   - attempt: the wait doubles with each: every one may leave the prompt in the agent's conversation.
  static func tryingLater(until: Int64?, reason: String, attempt: UInt16 = 1) -> TurnResult {
    if let until { return .tryLater(until, reason: reason) }
    let wait = waitMilliseconds << Int64(min(max(attempt, 1) - 1, 6))
    return .tryAfter(min(wait, waitMillisecondsMax), reason: reason)
  }
}
