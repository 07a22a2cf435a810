import QueueModel

/// Turns that were stopped.
extension TaskMachine {
  /// Withdraws the requests of agents here that a user stopped. An answer that comes after the stop, or with it,
  /// reaches no agent.
  mutating func withdrawStopped(
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for session in pendingAsks.sessions.sorted()
    where execution.isStopped(session, in: connection.replica.workspace) {
      // A request that could not be written must not be shown later.
      unwritten[session] = nil
      actions += carryOut(
        pendingAsks.turnEnded(session), with: execution, over: &connection, at: context,
        store: store)
    }
    return actions
  }

  /// The program starts to run agents: unfinished work of an earlier run does not continue.
  ///
  /// - Parameter intents: the attempts that the earlier run began and did not end.
  mutating func recovered(
    _ intents: [StartOrder], with execution: ExecutionMachine,
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    connection.replica.workspace.sessionsUnderWay().flatMap { session -> [Action] in
      guard mayReport(session, connection), isOwn(session, connection) else { return [] }
      let workspace = connection.replica.workspace
      let request = workspace.keptTask(of: session)?.state.status.request
      let isStopped = intents.contains {
        $0.session == session
          && Withdrawal.stops($0.attempt, at: $0.message, in: workspace)
      }
      return report(
        isStopped
          ? .completed(.cancelled)
          : .error(message: "The host stopped while the agent worked; it may have continued."),
        of: session, outcome: request.flatMap { AskOutcome(request: $0.id, ending: .withdrawn) },
        with: execution, over: &connection, at: context, store: store)
    }
  }
}
