/// A decision that an agent requests from a user.
public enum AgentAsk: Hashable, Sendable {
  /// Permission to use a tool. The details are the whole input of the tool, unless the summary
  /// already is; at most `Limits.taskInputBytesMax` bytes.
  case approval(toolName: String, summary: String, details: String? = nil)
  /// An answer to a question.
  case question(String, options: [String] = [])

  /// The text that a user reads and allows; nil for a question.
  package var text: String? {
    guard case .approval(let tool, let summary, let details) = self else { return nil }
    return ApprovalRequest.text(tool, summary, details ?? "")
  }
}

/// The answer that an agent receives to a request; each request gets exactly one.
public struct AskAnswer: Hashable, Sendable {
  /// How it ended. Only `allowed`, `denied`, `answered` and `cancelled` are a user's answer; after
  /// the others the agent asks at its own prompt.
  public var ending: AskOutcome.Ending
  /// The device that answered; nil if none did.
  public var device: DeviceID?
  /// The answer to a question, or a remark. A denial's remark is for the agent, others are only for
  /// users.
  public var text: String
  /// Whether a user allowed a different request, so that the agent must ask again.
  package var isMistaken = false

  /// Creates an answer.
  public init(ending: AskOutcome.Ending, device: DeviceID? = nil, text: String = "") {
    self.ending = ending
    self.device = device
    self.text = text
  }
}
