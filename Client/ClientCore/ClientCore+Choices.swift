package import QueueModel

/// What people at this device say of single sessions: stored with what it goes with, and decided by in the
/// same turn.
extension ClientCore {
  /// What the store held of what people at this device said of single sessions.
  package mutating func choicesLoaded(_ choices: SessionChoices) {
    execution.choicesLoaded(choices)
  }

  /// A person at this device says where a session runs: here with consent, or elsewhere or nowhere, which
  /// takes the consent back. One transaction stores both.
  ///
  /// - Parameter waitsForDisk: as of `commandGiven`.
  package mutating func hostChosen(
    _ session: SessionID, _ host: DeviceID?, waitsForDisk: Bool = true, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> (outcome: CommandOutcome, actions: [Action]) {
    let choice = SessionChoice.consent(session, isGiven: host == replica.record.device)
    let (outcome, actions) = try connection.perform(
      .setHost(session, host), choice: choice, waitsForDisk: waitsForDisk, at: context,
      store: store)
    return (
      outcome,
      actions
        + execution.chosen(choice, of: session, over: &connection, at: context, store: store)
    )
  }

  /// A person at this device gives a session an agent of its own here; nil: the device's.
  package mutating func agentChosen(
    _ session: SessionID, _ agent: AgentChoice?, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard replica.workspace.session(session) != nil else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    let choice = SessionChoice.agent(session, agent)
    var transaction = StoreTransaction(record: replica.record)
    transaction.choice = choice
    try replica.commit(transaction, to: store)
    return execution.chosen(choice, of: session, over: &connection, at: context, store: store)
  }
}
