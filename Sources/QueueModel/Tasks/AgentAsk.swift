/// Something an agent wants a person to decide.
public enum AgentAsk: Hashable, Sendable {
  /// It wants leave to use a tool; `isCut` if summary and details do not show all that the tool is given.
  case approval(toolName: String, summary: String, details: String? = nil, isCut: Bool = false)
  /// It wants an answer.
  case question(String, options: [String] = [])
}

/// What an agent is told of what it asked; each gets exactly one.
public struct AskAnswer: Hashable, Sendable {
  /// How it ended. Only `allowed`, `denied`, `answered` and `cancelled` are somebody's answer; after
  /// the others the agent asks at its own prompt.
  public var ending: AskOutcome.Ending
  /// The device that answered; nil where none did.
  public var device: DeviceID?
  /// The answer to a question, or a remark: of a denial for the agent, else for people alone.
  public var text: String

  /// Puts an answer together.
  public init(ending: AskOutcome.Ending, device: DeviceID? = nil, text: String = "") {
    self.ending = ending
    self.device = device
    self.text = text
  }
}
