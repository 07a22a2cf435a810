/// Reads `claude -p … --output-format stream-json --verbose`: one JSON object in a line.
///
/// | line | is |
/// |---|---|
/// | `system`, `init` | the session's id |
/// | `assistant` with `tool_use`, `user` with `tool_result` | a tool that starts, and ends |
/// | `control_request` `can_use_tool`, `control_response`, `control_cancel_request` | an approval |
/// | `rate_limit_event` with `rejected` | a limit, with the time it ends |
/// | `result` with `api_error_status` 429 or 529 | a limit, with the time that its words name |
/// | `result` | the end: the only thing that makes a success |
/// | `system` with `compact_result`, `conversation_reset` | what its own `/compact` and `/clear` did |
///
/// An exit code of 0 does not mean success. The program also ends that way if a hook blocked the
/// prompt, if it took the prompt for its own command (`ClaudeCommand`), or if it was interrupted.
package struct ClaudeReader: AgentOutputReader {
  private struct Result: Sendable {
    var subtype: String
    var isError: Bool
    var text: String
    /// The number of times that a model worked; nil if the line has none.
    var turns: Int64?
    /// The name of its own command that it ran.
    var command: String?
    /// The provider's HTTP status, if it refused.
    var refusal: Int64?

    /// Whether the provider refuses temporarily: too many requests (429), or overloaded (529).
    var isRefusedForNow: Bool { refusal == 429 || refusal == 529 }
  }

  private var lines = LineSplitter(bytesMax: AgentLimits.lineBytesMax)
  private var tools = RunningTools()
  private var session: String?
  private var result: Result?
  /// Whether a model saw the prompt.
  private var didAnswer = false
  private var limit: (isReached: Bool, until: Int64?) = (false, nil)
  private let command: ClaudeCommand?
  /// The effect of its own command on the conversation.
  private var change: ClaudeCommand.Change?
  /// The text that the program wrote instead of a model.
  private var ownWords = ""

  /// - Parameter prompt: the prompt of the turn, without the names of files after it.
  package init(prompt: String = "") {
    command = ClaudeCommand(prompt)
  }

  package mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent] {
    lines.received(bytes).flatMap { events(of: $0) }
  }

  package mutating func ended(
    _ end: ProcessEnd, now: Int64
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    let events = lines.ended().flatMap { self.events(of: $0) } + tools.endAll()
    return (events, verdict(end, now: now))
  }

  private func verdict(_ end: ProcessEnd, now: Int64) -> AgentVerdict {
    guard let result else {
      if limit.isReached {
        return .tryLater(reason: "The agent's usage limit is reached.", until: limit.until)
      }
      let dropped =
        lines.droppedCount > 0
        ? " \(lines.droppedCount) lines were longer than \(AgentLimits.lineBytesMax) bytes." : ""
      return .failed(reason: "The agent ended without a result (\(end.description)).\(dropped)")
    }
    if result.isError || result.subtype != "success" {
      let reason = result.text.isEmpty ? "The agent ended with \(result.subtype)." : result.text
      // Taken from its text if no line contains the time.
      let until = limit.until ?? WaitPhrase.time(in: reason, now: now)
      if limit.isReached { return .tryLater(reason: reason, until: until) }
      if let until = ClaudeReader.limitInOldForm(result.text) {
        return .tryLater(reason: "The agent's usage limit is reached.", until: until)
      }
      if result.isRefusedForNow { return .tryLater(reason: reason, until: until) }
      return .failed(reason: reason)
    }
    guard end.isClean else {
      return .failed(reason: "The agent reported success but ended with \(end.description).")
    }
    if didAnswer || result.turns ?? (result.text.isEmpty ? 0 : 1) > 0 {
      return .succeeded(summary: result.text)
    }
    return verdictWithoutTurn(result)
  }

  /// No model saw the prompt: it was one of the agent's own commands, was taken for one, or was
  /// blocked.
  private func verdictWithoutTurn(_ result: Result) -> AgentVerdict {
    guard let command else {
      let reason = "The agent ended without a turn. A hook may have blocked the prompt."
      return .failed(reason: result.text.isEmpty ? reason : "\(reason) \(result.text)")
    }
    if let change, command.isMeant { return .succeeded(summary: change.summary) }
    // It reports changes to its conversation in a different way.
    if let name = result.command, ClaudeCommand.changing.contains(name), command.isMeant {
      return .failed(
        reason: ownWords.isEmpty ? "The agent did not carry out /\(name)." : ownWords)
    }
    if result.command != nil, command.isMeant { return .succeeded(summary: result.text) }
    return .failed(reason: ClaudeReader.tookForCommand(result.text))
  }

  /// Why a prompt failed without reaching a model.
  ///
  /// - Parameter answer: the program's answer to it.
  package static func tookForCommand(_ answer: String) -> String {
    let said = answer.isEmpty ? "." : ": \"\(answer.cut(to: ClaudeCommand.answerBytesMax))\""
    return "The agent took this for its own command\(said) "
      + "To send it as text, put a word before the slash."
  }

  /// `Claude AI usage limit reached|1700000000`, in seconds.
  private static func limitInOldForm(_ text: String) -> Int64? {
    guard text.contains("usage limit reached"), let bar = text.lastIndex(of: "|") else {
      return nil
    }
    return Int64(text[text.index(after: bar)...]).map(UnixTime.milliseconds)
  }

  private mutating func events(of line: [UInt8]) -> [AgentEvent] {
    guard let object = JSONTree(line), let type = object["type"]?.text else { return [] }
    switch type {
    case "system":
      if object["compact_result"]?.text == "success"
        || object["subtype"]?.text == "compact_boundary"
      {
        change = .compacted
      }
      return named(object)
    case "conversation_reset":
      change = .cleared
      return command?.isMeant == true ? [.sessionLost] : []
    case "assistant":
      if object["message"]?["model"]?.text == ClaudeCommand.noModel {
        ownWords = ClaudeCommand.words(of: object)
      } else {
        didAnswer = true
      }
      return named(object) + assistant(object)
    case "user": return named(object) + user(object)
    case "control_request":
      guard object["request"]?["subtype"]?.text == "can_use_tool" else { return [] }
      return tools.approvalRequested(
        object["request_id"]?.text, tool: object["request"]?["tool_name"]?.text)
    case "control_response":
      return tools.approvalAnswered(object["response"]?["request_id"]?.text)
    case "control_cancel_request": return tools.approvalAnswered(object["request_id"]?.text)
    case "rate_limit_event": return rateLimit(object["rate_limit_info"])
    case "result": return named(object) + ended(object)
    default: return []
    }
  }

  /// The session's id, when it is new.
  private mutating func named(_ object: JSONTree) -> [AgentEvent] {
    guard let id = (object["session_id"] ?? object["sessionId"])?.text, !id.isEmpty, id != session,
      id.utf8.count <= AgentLimits.sessionIDBytesMax,
      // A conversation without a prompt cannot be continued.
      change != .cleared || didAnswer
    else { return [] }
    session = id
    return [.session(id)]
  }

  private mutating func assistant(_ object: JSONTree) -> [AgentEvent] {
    // There is work after a result, so that result was not the last.
    result = nil
    var events: [AgentEvent] = []
    for part in object["message"]?["content"]?.elements ?? [] {
      switch part["type"]?.text {
      case "tool_use", "server_tool_use":
        events += tools.started(part["id"]?.text, name: part["name"]?.text)
        if part["name"]?.text == ClaudeTodos.toolName, let input = part["input"],
          let todos = ClaudeTodos(input)
        {
          events.append(
            .progress(
              completed: todos.completed, total: todos.total, current: todos.current))
        }
      case "text":
        if let text = part["text"]?.text, !text.isEmpty {
          events.append(.text(text.cut(to: AgentLimits.textBytesMax)))
        }
      default: break
      }
    }
    return events
  }

  private mutating func user(_ object: JSONTree) -> [AgentEvent] {
    (object["message"]?["content"]?.elements ?? []).flatMap { part in
      part["type"]?.text == "tool_result" ? tools.ended(part["tool_use_id"]?.text) : []
    }
  }

  private mutating func rateLimit(_ info: JSONTree?) -> [AgentEvent] {
    guard info?["status"]?.text == "rejected" else {
      limit = (false, nil)
      return []
    }
    let until = info?["resetsAt"]?.integer.map(UnixTime.milliseconds)
    limit = (true, until)
    return [.rateLimited(until: until)]
  }

  private mutating func ended(_ object: JSONTree) -> [AgentEvent] {
    let errors = object["errors"]?.elements.compactMap(\.text).joined(separator: " ") ?? ""
    let text = object["result"]?.text ?? ""
    result = Result(
      subtype: object["subtype"]?.text ?? "no subtype",
      // A missing field is not false: only an explicit report is a success.
      isError: object["is_error"]?.flag ?? true,
      text: (text.isEmpty ? errors : text).cut(to: AgentLimits.textBytesMax),
      turns: object["num_turns"]?.integer, command: object["local_command"]?.text,
      refusal: object["api_error_status"]?.integer)
    // Work of subagents for a command does not count as a turn.
    if case .object(let usage)? = object["model_usage_since_last_result"], !usage.isEmpty {
      didAnswer = true
    }
    // The id in such a result does not belong to a conversation, either.
    let isLost = errors.hasPrefix("No conversation found with session ID")
    return tools.endAll() + (isLost ? [.sessionLost] : [])
  }
}

enum UnixTime {
  /// Agents write times in seconds or milliseconds. No count of seconds in this millennium is as
  /// large as a count of milliseconds in the last.
  static func milliseconds(_ time: Int64) -> Int64 {
    guard (0..<100_000_000_000).contains(time) else { return time }
    return time * 1_000
  }
}
