/// The input of Claude Code's tool `TodoWrite`: the agent's own list of steps.
package struct ClaudeTodos: Hashable, Sendable {
  package static let toolName = "TodoWrite"

  package var completed: Int
  package var total: Int
  /// The step that it works on, in its own words.
  package var current: String?

  /// Reads the tool's input; nil if it is not a list of steps.
  package init?(_ input: JSONTree) {
    guard case .array(let todos)? = input["todos"] else { return nil }
    total = todos.count
    completed = todos.count { $0["status"]?.text == "completed" }
    let active = todos.first { $0["status"]?.text == "in_progress" }
    current = (active?["activeForm"] ?? active?["content"])?.text?
      .cut(to: AgentLimits.textBytesMax)
  }
}
