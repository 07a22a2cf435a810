/// How a device runs messages. The store keeps the settings of one session separately: its user's
/// consent and its own agent.
///
/// ```swift
/// let settings = ExecutionSettings(isEnabled: true, onUnknown: .retry)
/// ```
public struct ExecutionSettings: Hashable, Sendable {
  /// Whether there are agents; without agents, nothing is claimed.
  public var isEnabled: Bool
  /// The policy for an attempt whose outcome is unknown.
  public var onUnknown: UnknownPolicy
  /// Whether the queue continues without a failed message.
  public var skipsFailed: Bool
  /// Whether sessions without an agent of their own are `gated`.
  public var isGated: Bool
  /// Whether a session starts only if a user at this device allows it. Otherwise all sessions with
  /// this host start, even if another device chose the host.
  public var needsConsent: Bool
  /// Whether a session without consent asks for it, on all devices, when one of its messages would
  /// start.
  public var asksForConsent: Bool

  /// Creates settings.
  public init(
    isEnabled: Bool = true, onUnknown: UnknownPolicy = .ask, skipsFailed: Bool = false,
    isGated: Bool = false, needsConsent: Bool = false, asksForConsent: Bool = false
  ) {
    self.isEnabled = isEnabled
    self.onUnknown = onUnknown
    self.skipsFailed = skipsFailed
    self.isGated = isGated
    self.needsConsent = needsConsent
    self.asksForConsent = asksForConsent
  }

  /// When the messages of a session without an agent of its own may start.
  public var mode: StartMode { isEnabled ? isGated ? .gated : .free : .off }
}

/// When the messages of a session may start.
public enum StartMode: Hashable, Sendable {
  /// Never here.
  case off
  /// When it is their turn.
  case free
  /// When it is their turn and the agent, which a user works with, waits for them.
  case gated
}

/// The policy for an attempt that ended without a known outcome, even if its agent is known to have
/// died or to have been stopped. If a user works with the agent (`StartMode.gated`), that user
/// decides.
public enum UnknownPolicy: String, Hashable, Sendable, CaseIterable {
  /// A user decides.
  case ask
  /// The queue continues without it.
  case skip
  /// The device tries again, up to three times in a row; the agent may have finished before.
  case retry
}

/// Counts of a device's work since the program began.
public struct ExecutionCounts: Hashable, Sendable {
  /// Leases requested.
  public var claims = 0
  /// Agents started.
  public var starts = 0
  /// Leases lost.
  public var fenced = 0
  /// Attempts whose outcome is unknown.
  public var unknown = 0

  /// Creates empty counts.
  public init() {}
}

extension UnknownPolicy: Codable {}
extension ExecutionCounts: Codable {}
