/// Something an agent wants a person to decide.
public enum AgentAsk: Hashable, Sendable {
  /// It wants leave to use a tool. The details say all that the tool is given, if the summary does not;
  /// at most `Limits.taskInputBytesMax` bytes.
  case approval(toolName: String, summary: String, details: String? = nil)
  /// It wants an answer.
  case question(String, options: [String] = [])

  /// What somebody reads and allows; nil for a question.
  package var text: String? {
    guard case .approval(let tool, let summary, let details) = self else { return nil }
    return ApprovalRequest.text(tool, summary, details ?? "")
  }
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
  /// Whether somebody allowed something else than the agent asks for, so that it has to ask anew.
  package var isMistaken = false

  /// Puts an answer together.
  public init(ending: AskOutcome.Ending, device: DeviceID? = nil, text: String = "") {
    self.ending = ending
    self.device = device
    self.text = text
  }
}
