package import QueueModel

/// The choices of users at this device about single sessions: in its store, and unknown to other
/// devices.
package struct SessionChoices: Hashable, Sendable {
  /// The sessions that a user at this device allows to run here.
  package var consented: Set<SessionID>
  /// The sessions that have an agent of their own.
  package var agents: [SessionID: AgentChoice]

  package init(consented: Set<SessionID> = [], agents: [SessionID: AgentChoice] = [:]) {
    self.consented = consented
    self.agents = agents
  }

  package mutating func apply(_ choice: SessionChoice) {
    switch choice {
    case .consent(let session, isGiven: true): consented.insert(session)
    case .consent(let session, isGiven: false): consented.remove(session)
    case .agent(let session, let agent): agents[session] = agent
    }
  }

  /// When a session's messages may start, consent included. A user's own agent that asks for each
  /// prompt (`gated`) counts as consent.
  func mode(of session: SessionID, _ settings: ExecutionSettings) -> StartMode {
    lacksConsent(session, settings) ? .off : wantedMode(of: session, settings)
  }

  /// Whether only a user's consent is missing for the session to run here.
  func lacksConsent(_ session: SessionID, _ settings: ExecutionSettings) -> Bool {
    settings.needsConsent && wantedMode(of: session, settings) == .free
      && !consented.contains(session)
  }

  private func wantedMode(of session: SessionID, _ settings: ExecutionSettings) -> StartMode {
    agents[session]?.mode ?? settings.mode
  }
}

/// An agent that a session uses on this device instead of the device's.
package struct AgentChoice: Hashable, Sendable {
  /// Its name in the store.
  package var name: String
  package var mode: StartMode

  package init(name: String, mode: StartMode) {
    self.name = name
    self.mode = mode
  }
}

/// One choice of a user at this device about a session.
package enum SessionChoice: Hashable, Sendable {
  /// The session may run here, or no longer may.
  case consent(SessionID, isGiven: Bool)
  /// The session's agent here; nil: the device's.
  case agent(SessionID, AgentChoice?)
}
