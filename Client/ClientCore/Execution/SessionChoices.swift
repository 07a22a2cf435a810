package import QueueModel

/// What people at this device said of single sessions: kept by its store, and known to no other device.
package struct SessionChoices: Hashable, Sendable {
  /// The sessions that a person at this device lets it run.
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

  /// When a session's messages may start, consent included. A person's own agent that asks for each
  /// prompt (`gated`) is the consent.
  func mode(of session: SessionID, _ settings: ExecutionSettings) -> StartMode {
    lacksConsent(session, settings) ? .off : wantedMode(of: session, settings)
  }

  /// Whether a person's consent is all that is missing for the session to run here.
  func lacksConsent(_ session: SessionID, _ settings: ExecutionSettings) -> Bool {
    settings.needsConsent && wantedMode(of: session, settings) == .free
      && !consented.contains(session)
  }

  private func wantedMode(of session: SessionID, _ settings: ExecutionSettings) -> StartMode {
    agents[session]?.mode ?? settings.mode
  }
}

/// An agent that a session has on this device in place of the device's.
package struct AgentChoice: Hashable, Sendable {
  /// Its name in the store.
  package var name: String
  package var mode: StartMode

  package init(name: String, mode: StartMode) {
    self.name = name
    self.mode = mode
  }
}

/// One thing that a person at this device says of a session.
package enum SessionChoice: Hashable, Sendable {
  /// It may run here, or may no longer.
  case consent(SessionID, isGiven: Bool)
  /// It has this agent here; nil: the device's.
  case agent(SessionID, AgentChoice?)
}
