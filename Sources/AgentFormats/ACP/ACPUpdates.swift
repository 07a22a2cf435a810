/// The updates of a turn (`session/update`), as events.
struct ACPUpdates: Sendable {
  private var calls = ACPToolCalls()
  /// The agent's last text.
  private(set) var summary = ""
  private var tools = RunningTools()
  private var text = ""
  private var textMessage: String?
  private var progress: AgentEvent?

  /// - Parameter line: the line that contained it.
  mutating func received(_ update: JSONTree, in line: [UInt8]) -> [ACPStep] {
    let kind = update["sessionUpdate"]?.text
    if kind == "agent_message_chunk" {
      return chunk(update).map { .said($0) }
    }
    var events = flushed()
    switch kind {
    case "tool_call", "tool_call_update":
      calls.note(update, in: line)
      let id = update["toolCallId"]?.text
      if ACPToolCalls.hasEnded(update) {
        events += tools.ended(id)
      } else if kind == "tool_call" || update["status"]?.text == "in_progress" {
        events += tools.started(id, name: (update["title"] ?? update["kind"])?.text)
      }
    case "plan": events += plan(update["entries"]?.elements ?? [])
    default: break
    }
    return events.map { .said($0) }
  }

  /// The subject of a request for permission; nil if it cannot be shown to a user in full.
  mutating func wanted(_ call: JSONTree, in line: [UInt8]) -> ACPToolCalls.Wanted? {
    calls.wanted(call, in: line)
  }

  private mutating func chunk(_ update: JSONTree) -> [AgentEvent] {
    guard update["content"]?["type"]?.text == "text", let words = update["content"]?["text"]?.text
    else { return [] }
    let message = update["messageId"]?.text
    let events = message == textMessage ? [] : flushed()
    textMessage = message
    if text.utf8.count < AgentLimits.textBytesMax {
      text += words.cut(to: AgentLimits.textBytesMax - text.utf8.count)
    }
    return events
  }

  private mutating func flushed() -> [AgentEvent] {
    guard !text.isEmpty else { return [] }
    defer { text = "" }
    summary = text
    return [.text(text)]
  }

  private mutating func plan(_ entries: [JSONTree]) -> [AgentEvent] {
    guard !entries.isEmpty else { return [] }
    let current = entries.first { $0["status"]?.text == "in_progress" }?["content"]?.text
    let event = AgentEvent.progress(
      completed: entries.count { $0["status"]?.text == "completed" }, total: entries.count,
      current: current?.cut(to: AgentLimits.textBytesMax))
    guard event != progress else { return [] }
    progress = event
    return [event]
  }

  mutating func approvalBegan(_ key: String, tool: String, input: JSONTree) -> [ACPStep] {
    tools.approvalRequested(key, tool: tool, input: input).map { .said($0) }
  }

  mutating func approvalEnded(_ key: String) -> [ACPStep] {
    tools.approvalAnswered(key).map { .said($0) }
  }

  mutating func approvalsEnded() -> [ACPStep] {
    tools.approvalsEnded().map { .said($0) }
  }

  /// The turn has ended.
  mutating func ended() -> [AgentEvent] { flushed() + tools.endAll() }
}
