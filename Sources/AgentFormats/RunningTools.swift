/// The running tools. Each start gets one end, even if the agent does not report it.
struct RunningTools: Sendable {
  private var ids: Set<String> = []
  private var approvals: Set<String> = []

  mutating func started(_ id: String?, name: String?) -> [AgentEvent] {
    guard let id = id?.cut(to: AgentLimits.toolIDBytesMax), !id.isEmpty,
      ids.count < AgentLimits.runningToolsMax, ids.insert(id).inserted
    else { return [] }
    return [.toolStarted(id: id, name: name?.cut(to: AgentLimits.toolIDBytesMax) ?? "tool")]
  }

  mutating func ended(_ id: String?) -> [AgentEvent] {
    guard let id = id?.cut(to: AgentLimits.toolIDBytesMax), ids.remove(id) != nil else { return [] }
    return [.toolEnded(id: id)]
  }

  mutating func approvalRequested(
    _ id: String?, tool: String?, input: JSONTree? = nil, conversation: String? = nil
  ) -> [AgentEvent] {
    guard let id = id?.cut(to: AgentLimits.toolIDBytesMax), !id.isEmpty,
      approvals.count < AgentLimits.runningToolsMax, approvals.insert(id).inserted
    else { return [] }
    return [
      .approvalRequested(
        id: id, tool: tool?.cut(to: AgentLimits.toolIDBytesMax) ?? "tool", input: input,
        conversation: conversation)
    ]
  }

  mutating func approvalAnswered(_ id: String?) -> [AgentEvent] {
    guard let id = id?.cut(to: AgentLimits.toolIDBytesMax), approvals.remove(id) != nil else {
      return []
    }
    return [.approvalAnswered(id: id)]
  }

  /// Answers all requests for approval.
  mutating func approvalsEnded() -> [AgentEvent] {
    defer { approvals = [] }
    return approvals.sorted().map { .approvalAnswered(id: $0) }
  }

  /// Ends all remaining tools.
  mutating func endAll() -> [AgentEvent] {
    defer { ids = [] }
    return approvalsEnded() + ids.sorted().map { .toolEnded(id: $0) }
  }
}
