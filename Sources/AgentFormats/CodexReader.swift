#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

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
  private let zone: TimeZone

  /// - Parameter zone: the time zone of the times of day in its texts, which is its machine's.
  package init(zone: TimeZone = .current) {
    self.zone = zone
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
    switch turn {
    case .completed where end.isClean:
      return .succeeded(summary: lastMessage)
    case .completed:
      return .failed(reason: "The agent reported success but ended with \(end.description).")
    case .failed(let reason):
      return judged(reason, now: now)
    case .open:
      if let lastError { return judged(lastError, now: now) }
      return .failed(reason: "The agent ended before its turn was complete (\(end.description)).")
    }
  }

  private func judged(_ reason: String, now: Int64) -> AgentVerdict {
    guard LimitWords(reason).nameRateLimit else { return .failed(reason: reason) }
    return .tryLater(reason: reason, until: WaitPhrase.time(in: reason, now: now, zone: zone))
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
