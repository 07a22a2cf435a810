package import QueueModel

/// The choices of users at this device about single sessions: stored together with the change that
/// they belong to, and in effect at once.
extension ClientCore {
  /// The store's choices about single sessions.
  package mutating func choicesLoaded(_ choices: SessionChoices) {
    execution.choicesLoaded(choices)
  }

  /// A user at this device chose a session's host. Choosing this device includes consent; choosing
  /// another one or none withdraws it. One transaction stores both.
  ///
  /// - Parameter waitsForDisk: as of `commandGiven`.
  package mutating func hostChosen(
    _ session: SessionID, _ host: DeviceID?, waitsForDisk: Bool = true, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> (outcome: CommandOutcome, actions: [Action]) {
    try requireAccess(at: context)
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

  /// A user at this device gave a session its own agent here; nil: the device's.
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
