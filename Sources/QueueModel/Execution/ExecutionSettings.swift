/// How a device runs messages.
///
/// ```swift
/// var settings = ExecutionSettings(isEnabled: true, onUnknown: .retry)
/// settings.modes["review"] = .gated
/// ```
public struct ExecutionSettings: Hashable, Sendable {
  /// Whether there are agents; without them nothing is claimed.
  public var isEnabled: Bool
  /// What to do with an attempt of which nobody says how it went.
  public var onUnknown: UnknownPolicy
  /// Whether the queue goes on without a message that failed.
  public var skipsFailed: Bool
  /// Whether sessions are `gated` where `modes` says nothing.
  public var isGated: Bool
  /// Sessions that differ from the rest.
  public var modes: [SessionID: StartMode]
  /// The sessions that somebody at this device let it run: no other starts by itself. nil: all whose host
  /// it is, whoever said so.
  public var consented: Set<SessionID>?
  /// Whether the others ask for it, on all devices, when something of theirs would start.
  public var asksForConsent: Bool

  /// Puts the settings together.
  public init(
    isEnabled: Bool = true, onUnknown: UnknownPolicy = .ask, skipsFailed: Bool = false,
    isGated: Bool = false, modes: [SessionID: StartMode] = [:],
    consented: Set<SessionID>? = nil, asksForConsent: Bool = false
  ) {
    self.isEnabled = isEnabled
    self.onUnknown = onUnknown
    self.skipsFailed = skipsFailed
    self.isGated = isGated
    self.modes = modes
    self.consented = consented
    self.asksForConsent = asksForConsent
  }

  /// When a session's messages may start, consent included. Where a person's own agent asks for each
  /// prompt (`gated`), that is the consent.
  public func mode(of session: SessionID) -> StartMode {
    lacksConsent(session) ? .off : wantedMode(of: session)
  }

  /// Whether only somebody's consent is missing for the session to run here.
  public func lacksConsent(_ session: SessionID) -> Bool {
    wantedMode(of: session) == .free && consented?.contains(session) == false
  }

  private func wantedMode(of session: SessionID) -> StartMode {
    modes[session] ?? (isEnabled ? isGated ? .gated : .free : .off)
  }
}

/// When the messages of a session may start.
public enum StartMode: Hashable, Sendable {
  /// Never here.
  case off
  /// When their turn comes.
  case free
  /// When their turn comes while the agent, which is a person's own, waits for them.
  case gated
}

/// What to do with an attempt that ended and of which nobody says how it went, be it that nobody
/// knows or that its agent is known to have died or been stopped. Where the agent is a person's own
/// (`StartMode.gated`), that person decides.
public enum UnknownPolicy: String, Hashable, Sendable, CaseIterable {
  /// A person decides.
  case ask
  /// Go on without it.
  case skip
  /// Try it again, at the risk that the agent did it already; three times in a row.
  case retry
}

/// Counts of what a device ran since the program began.
public struct ExecutionCounts: Hashable, Sendable {
  /// Leases asked for.
  public var claims = 0
  /// Agents started.
  public var starts = 0
  /// Leases lost.
  public var fenced = 0
  /// Attempts of which nobody knows what became of them.
  public var unknown = 0

  /// Nothing yet.
  public init() {}
}

extension UnknownPolicy: Codable {}
extension ExecutionCounts: Codable {}
