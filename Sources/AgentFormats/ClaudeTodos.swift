/// What Claude Code's tool `TodoWrite` is given: the list of what the agent set itself.
package struct ClaudeTodos: Hashable, Sendable {
  package static let toolName = "TodoWrite"

  package var completed: Int
  package var total: Int
  /// The point it works on, in its own words.
  package var current: String?

  /// Reads the tool's input; nil if it is no list of points.
  package init?(_ input: JSONTree) {
    guard case .array(let todos)? = input["todos"] else { return nil }
    total = todos.count
    completed = todos.count { $0["status"]?.text == "completed" }
    let active = todos.first { $0["status"]?.text == "in_progress" }
    current = (active?["activeForm"] ?? active?["content"])?.text?
      .cut(to: AgentLimits.textBytesMax)
  }
}
