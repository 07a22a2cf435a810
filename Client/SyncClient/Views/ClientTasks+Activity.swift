import ClientCore
public import QueueModel

extension ClientTasks {
  /// The activity of a session's agent, as reported here since the start.
  public func activity(of session: SessionID) -> SessionActivity {
    client.device.activity(of: session)
  }

  /// The sessions whose agents are busy, or failed, by id.
  public func activities() -> [SessionActivity] {
    client.device.activities()
  }

  /// Processes an agent's report and its consequences. The end of a turn shows the session's thread
  /// again (S2-26), and a failure pauses the queue if the device's settings require that (S0-27).
  /// An agent that became idle without an end of its turn was stopped, so its task counts as
  /// cancelled. That has no effect on a message that the executor runs in the session.
  ///
  /// The activity is this device's, published as `DeviceEvent.activity`. The consequences are
  /// changes to the workspace without a user's request, so undo and redo skip them.
  ///
  /// - Throws: `.queue` if the session is unknown or a limit is reached, `.closed`.
  @discardableResult
  public func receive(
    _ signal: AgentSignal, in session: SessionID
  ) async throws(ClientError) -> SessionActivity {
    guard let view = client.workspace().session(session) else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    switch signal {
    case .toolStarted(let id), .toolEnded(let id):
      guard (1...Limits.toolIDBytesMax).contains(id.utf8.count) else {
        throw .queue(
          .invalidName(
            field: "tool id", reason: "it must have 1 to \(Limits.toolIDBytesMax) bytes"))
      }
    case .turnStarted, .turnEnded, .turnFailed, .approvalRequested, .approvalAnswered, .wentIdle:
      break
    }
    let before = client.device.activity(of: session)
    if signal == .wentIdle, !client.device.isLiveBusy(session) { return before }
    let (activity, changesLive) = client.device.receive(signal, in: session, from: .hooks)
    // Nothing may start in a session whose agent works for a user at its prompt.
    if changesLive { await liveChanged(in: session) }
    // The executor's turn there continues, and the consequences of its end must not come earlier.
    if signal.endsTurn, await client.execution.running()[session] != nil { return activity }
    switch signal {
    case .turnEnded, .turnFailed, .wentIdle:
      if view.locked { try await client.performIfAllowed(.unlockThread(session)) }
      if case .turnFailed(let message) = signal, client.device.settings.onFailure == .pause {
        let reason = "failed: \(message)".cut(toUTF8Bytes: Limits.nameBytesMax)
        try await client.performIfAllowed(.pause(session, reason: reason))
      }
    case .turnStarted, .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered:
      break
    }
    await noteSignal(signal, in: session)
    return activity
  }

  /// Reports activity of an agent that runs here. It has no consequences for the queues, because
  /// the executor handles those.
  public func noteActivity(_ signal: AgentSignal, in session: SessionID) {
    client.device.receive(signal, in: session, from: .turn)
  }

  /// Reports that the turn of an agent that a user works with has ended. The executor gave it the
  /// prompt, and handles the consequences.
  public func endLiveTurn(in session: SessionID) async {
    client.device.receive(.wentIdle, in: session, from: .hooks)
    await liveChanged(in: session)
  }

  /// Reports to the executor whether a user works in a session. The state is read when the report
  /// is processed, because reports may arrive in parallel.
  private func liveChanged(in session: SessionID) async {
    await client.engine.note { [device = client.device] core, context, store in
      core.sessionBusyChanged(
        session, isBusy: device.isLiveBusy(session), at: context, store: store)
    }
  }

  /// Applies a signal to the session's task.
  private func noteSignal(_ signal: AgentSignal, in session: SessionID) async {
    switch signal {
    case .turnStarted: await noteBegan(in: session)
    case .turnEnded: await noteEnded(.success(summary: nil), in: session)
    case .turnFailed(let message):
      await noteEnded(.failure(error: message), in: session)
    case .wentIdle: await noteEnded(.cancelled, in: session)
    case .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered: break
    }
  }
}
