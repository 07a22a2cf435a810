/// Reads `codex exec --json …`: one JSON object in a line.
///
/// | line | is |
/// |---|---|
/// | `thread.started` | the session's id |
/// | `item.started`, `item.completed` of a command, file change, MCP call or search | a tool |
/// | `item.completed` of an `agent_message` | text; the last one is the summary |
/// | `turn.completed`, `turn.failed` | the end of the turn |
/// | `error` | a failure, unless a turn is completed afterwards |
package struct CodexReader: AgentOutputReader {
  private enum Turn: Sendable {
    case open
    case completed
    case failed(String)
  }

  private static let toolKinds: Set<String> = [
    "command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search",
  ]

  private var lines = LineSplitter(bytesMax: AgentLimits.lineBytesMax)
  private var tools = RunningTools()
  private var session: String?
  private var turn = Turn.open
  private var lastError: String?
  private var lastMessage = ""

  package init() {}

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
    switch turn {
    case .completed where end.isClean:
      return .succeeded(summary: lastMessage)
    case .completed:
      return .failed(reason: "The agent said success, and ended with \(end.description).")
    case .failed(let reason):
      return CodexReader.judged(reason, now: now)
    case .open:
      if let lastError { return CodexReader.judged(lastError, now: now) }
      return .failed(reason: "The agent ended before its turn was complete (\(end.description)).")
    }
  }

  private static func judged(_ reason: String, now: Int64) -> AgentVerdict {
    let lowered = reason.lowercased()
    guard
      lowered.contains("usage limit") || lowered.contains("rate limit")
        || lowered.contains("429 too many requests")
    else { return .failed(reason: reason) }
    return .tryLater(reason: reason, until: WaitPhrase.milliseconds(in: lowered).map { now + $0 })
  }

  private mutating func events(of line: [UInt8]) -> [AgentEvent] {
    guard let object = JSONTree(line), let type = object["type"]?.text else { return [] }
    switch type {
    case "thread.started", "thread.resumed":
      guard let id = object["thread_id"]?.text, !id.isEmpty, id != session,
        id.utf8.count <= AgentLimits.sessionIDBytesMax
      else { return [] }
      session = id
      return [.session(id)]
    case "turn.started":
      turn = .open
      return []
    case "turn.completed":
      turn = .completed
      return tools.endAll()
    case "turn.failed":
      let reason = object["error"]?["message"]?.text ?? lastError ?? "The agent's turn failed."
      turn = .failed(reason.cut(to: AgentLimits.textBytesMax))
      return tools.endAll()
    case "item.started", "item.updated", "item.completed":
      return item(object["item"], isDone: type == "item.completed")
    case "error":
      let message = (object["message"]?.text ?? "error").cut(to: AgentLimits.textBytesMax)
      lastError = message
      return [.problem(message)]
    default:
      return []
    }
  }

  private mutating func item(_ item: JSONTree?, isDone: Bool) -> [AgentEvent] {
    guard let item, let kind = (item["type"] ?? item["item_type"])?.text else { return [] }
    if CodexReader.toolKinds.contains(kind) {
      return isDone
        ? tools.ended(item["id"]?.text) : tools.started(item["id"]?.text, name: kind)
    }
    guard isDone, kind == "agent_message" || kind == "assistant_message",
      let text = item["text"]?.text, !text.isEmpty
    else { return [] }
    lastMessage = text.cut(to: AgentLimits.textBytesMax)
    return [.text(lastMessage)]
  }
}

/// "try again in 3 days 4 hours 2 minutes", as agents write it.
enum WaitPhrase {
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000),
  ]

  /// The wait in milliseconds; nil if the text names none. At most ten years.
  static func milliseconds(in lowered: String) -> Int64? {
    guard let phrase = lowered.firstRange(of: "try again in ") else { return nil }
    var total: Int64 = 0
    var number: Int64?
    for word in lowered[phrase.upperBound...].split(whereSeparator: { $0 == " " || $0 == "," }) {
      if let value = Int64(word) {
        guard (0...100_000).contains(value) else { return nil }
        number = value
      } else if let count = number, let unit = units.first(where: { word.hasPrefix($0.name) }) {
        total += count * unit.milliseconds
        number = nil
        if word.hasSuffix(".") { break }
      } else {
        break
      }
    }
    return total > 0 ? min(total, 315_360_000_000) : nil
  }
}
