import ClientCore
public import QueueModel

extension ClientTasks {
  /// What a session's agent does, as far as it was reported here since the start.
  public func activity(of session: SessionID) -> SessionActivity {
    client.device.activity(of: session)
  }

  /// The sessions whose agents are busy, or failed, by id.
  public func activities() -> [SessionActivity] {
    client.device.activities()
  }

  /// Takes in what an agent reports, and does what follows from it: the end of a turn shows the
  /// session's thread again (S2-26), and a failure pauses the queue where the device is set to that
  /// (S0-27). An agent that went idle without an end of its turn was stopped: its task counts as
  /// cancelled. That says nothing of a message that the executor runs in the session.
  ///
  /// The activity is this device's, published as `DeviceEvent.activity`. What follows is a change of
  /// the workspace that no person made: undo and redo pass over it.
  ///
  /// - Throws: `.queue` where the session is not known or a limit is reached, `.closed`.
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
    // Nothing may start in a session whose agent works for somebody at its prompt.
    if changesLive { await liveChanged(in: session) }
    // What the executor runs there goes on, and what follows from its end is not to be done before.
    if signal.endsTurn, await client.execution.running()[session] != nil { return activity }
    switch signal {
    case .turnEnded, .turnFailed, .wentIdle:
      if view.locked { try await client.perform(.unlockThread(session), isOfPerson: false) }
      if case .turnFailed(let message) = signal, client.device.settings.onFailure == .pause {
        let reason = "failed: \(message)".cut(toUTF8Bytes: Limits.nameBytesMax)
        try await client.perform(.pause(session, reason: reason), isOfPerson: false)
      }
    case .turnStarted, .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered:
      break
    }
    await noteSignal(signal, in: session)
    return activity
  }

  /// What an agent that runs here reports; nothing follows from it for the queues, since the
  /// executor sees to those.
  public func noteActivity(_ signal: AgentSignal, in session: SessionID) {
    client.device.receive(signal, in: session, from: .turn)
  }

  /// The turn of an agent that a person works with is over, and what follows from that is the
  /// executor's matter: it gave the prompt out.
  public func endLiveTurn(in session: SessionID) async {
    client.device.receive(.wentIdle, in: session, from: .hooks)
    await liveChanged(in: session)
  }

  /// Tells the executor whether somebody works in a session, as it is when its turn comes: reports come
  /// side by side.
  private func liveChanged(in session: SessionID) async {
    await client.engine.note { [device = client.device] core, context, store in
      core.sessionBusyChanged(
        session, isBusy: device.isLiveBusy(session), at: context, store: store)
    }
  }

  /// What a signal says of the session's task.
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
