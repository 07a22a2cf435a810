/// The outcome of a request that a task awaits; the raw value is the wire's.
public enum Verdict: UInt8, Hashable, Sendable, CaseIterable {
  /// The agent may do it.
  case allowed = 1
  /// The agent must not do it.
  case denied = 2
  /// The question has this answer.
  case answered = 3
  /// The question remains unanswered, and the agent must stop.
  case cancelled = 4
  /// The host no longer waits; later answers do not count.
  case closed = 5

  /// A stable name for scripts.
  public var name: String { "\(self)" }

  /// Its ending in the task's register.
  public var ending: AskOutcome.Ending {
    switch self {
    case .allowed: .allowed
    case .denied: .denied
    case .answered: .answered
    case .cancelled: .cancelled
    case .closed: .expired
    }
  }

  /// Whether it fits a request's kind: an approval is allowed or denied, a question is answered or
  /// cancelled.
  public func answers(_ request: TaskRequest) -> Bool {
    switch request {
    case .approval: self == .allowed || self == .denied
    case .question: self == .answered || self == .cancelled
    }
  }
}

/// A verdict with the device that gave it.
public struct GivenVerdict: Hashable, Sendable {
  /// The verdict.
  public var verdict: Verdict
  /// The device that gave it.
  public var device: DeviceID
  /// The answer to a question, or a denial's remark for the agent.
  public var text: String
  /// For an approval, the digest of the text that its author saw; see `ApprovalRequest.digest`.
  public var digest: ContentHash?

  /// Creates a value from its parts.
  public init(
    verdict: Verdict, device: DeviceID, text: String = "", digest: ContentHash? = nil
  ) {
    self.verdict = verdict
    self.device = device
    self.text = text
    self.digest = digest
  }
}
