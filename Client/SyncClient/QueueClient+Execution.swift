import ClientCore
import ClientStore
public import QueueModel
import WireProtocol

/// Running messages: this device does, for the sessions whose host it is.
///
/// The authority, the server or the device itself where it has none, lets every attempt out once;
/// what is let out is stored as an intent before `start` comes. So an attempt starts at most once,
/// and after a crash it is known which ones may have started.
extension QueueClient {
  /// The device's id, as sessions name their host.
  public var deviceID: DeviceID { engine.latest.core.replica.record.device }

  /// The best known time, in milliseconds since 1970: the server's where this device's clock is
  /// wrong. The ends of holds are compared with that.
  public var time: Int64 { engine.latest.core.time(at: engine.context()) }

  /// What earlier runs of the program handed to agents without learning what became of it.
  public var unfinishedExecutions: [TurnStart] {
    let workspace = engine.latest.workspace
    return loadedExecution.intents.map { TurnStart($0, in: workspace, memory: nil) }
  }

  /// Runs messages from now on, until the client closes: the caller does what the orders say.
  ///
  /// - Parameter deadAgents: those of `unfinishedExecutions` whose agents are known to have died;
  ///   of the others nobody knows anything.
  /// - Throws: `.closed`, also where somebody runs messages already.
  public func execute(
    _ settings: ExecutionSettings, deadAgents: Set<MessageID> = []
  ) async throws(ClientError) -> AsyncStream<TurnOrder> {
    let loaded = loadedExecution
    let orders = await engine.beginExecuting { core, context, store in
      core.executionStarted(
        settings, loaded: loaded, deadAgents: deadAgents, at: context, store: store)
    }
    guard let orders else { throw .closed }
    return orders
  }

  /// Takes other settings for what begins from now on.
  public func apply(_ settings: ExecutionSettings) async {
    await engine.note { core, context, store in
      core.executionSettingsChanged(settings, at: context, store: store)
    }
  }

  /// An attempt ended.
  public func executionEnded(_ start: TurnStart, with result: TurnResult) async {
    await engine.note { core, context, store in
      core.agentEnded(
        start.session, attempt: start.attempt, with: result, at: context, store: store)
    }
  }

  /// The agent of a session waits for a prompt from now on, or not any more; where the settings have
  /// its messages start only then.
  public func setGate(of session: SessionID, isOpen: Bool) async {
    await engine.note { core, context, store in
      core.sessionGateChanged(session, isOpen: isOpen, at: context, store: store)
    }
  }

  /// Begins nothing any more; `drained` comes when nothing runs.
  public func drainExecution() async {
    await engine.note { core, context, store in core.drainRequested(at: context, store: store) }
  }

  /// Stops what still runs.
  public func endDrainGrace() async {
    await engine.note { core, context, store in core.drainGraceEnded(at: context, store: store) }
  }

  /// Stops the agent of a session on this device; its message counts as cancelled.
  ///
  /// - Returns: whether one was at work here.
  public func stopAgent(of session: SessionID) async throws(ClientError) -> Bool {
    try await engine.submit { core, context, store throws(Replica.Fault) in
      let actions = core.agentStopRequested(session, at: context, store: store)
      return (actions != nil, actions ?? [])
    }
  }

  /// What agents work on here, by session.
  public func executing() -> [SessionID: MessageID] {
    engine.latest.core.running.mapValues(\.message)
  }

  /// What this device ran since it was opened.
  public func executionCounts() -> ExecutionCounts {
    engine.latest.core.executionCounts
  }

  /// The agent's own id of a session's conversation.
  public func conversation(
    of session: SessionID, with agent: String
  ) async throws(ClientError) -> String? {
    try await engine.submit { _, _, store throws(Replica.Fault) in
      do throws(StoreError) {
        return (try store.conversation(of: session, with: agent), [])
      } catch { throw .store(error) }
    }
  }

  /// Remembers it.
  public func setConversation(
    _ conversation: String, of session: SessionID, with agent: String
  ) async throws(ClientError) {
    try await engine.submit { _, _, store throws(Replica.Fault) in
      do throws(StoreError) {
        return (try store.keep(conversation: conversation, of: session, with: agent), [])
      } catch { throw .store(error) }
    }
  }

  /// What an agent that runs here reports; nothing follows from it for the queues, since the
  /// executor sees to those.
  public func noteActivity(_ signal: AgentSignal, in session: SessionID) {
    _ = device.receive(signal, in: session, from: .turn)
  }
}

/// What became of a withdrawal.
public enum CancelOutcome: Hashable, Sendable {
  /// The authority knows of it: the text will never reach an agent.
  case cancelled
  /// It came too late: the agent has the text.
  case invoked
  /// The authority cannot be asked now; it is cancelled unless it has started meanwhile.
  case unconfirmed
}

/// Races with the start of a message: the authority decides.
extension QueueClient {
  /// How long the authority may take to say how a race ended.
  static let raceAnswerLimit = Duration.seconds(5)
  /// Questions that are under way at once; a server takes a thousand of a workspace.
  static let questionsMax = 100

  /// Withdraws messages, and says of each whether that was in time.
  ///
  /// - Throws: as `perform`; `.queue(.alreadyStarted)` where this device knows already that it came
  ///   too late.
  public func cancel(
    _ ids: [MessageID]
  ) async throws(ClientError) -> (receipt: CommandReceipt, outcomes: [MessageID: CancelOutcome]) {
    let before = engine.latest.workspace
    let receipt = try await perform(.cancel(ids))
    // The limit is for all of them together.
    let deadline = ContinuousClock.now + QueueClient.raceAnswerLimit
    let outcomes = await withTaskGroup(of: (MessageID, CancelOutcome).self) { group in
      var outcomes: [MessageID: CancelOutcome] = [:]
      for (number, race) in StartRace.withdrawing(Set(ids), in: before).enumerated() {
        if number >= QueueClient.questionsMax, let (asked, outcome) = await group.next() {
          outcomes[asked] = outcome
        }
        group.addTask { await (race.message, self.outcome(of: race, until: deadline)) }
      }
      for await (asked, outcome) in group { outcomes[asked] = outcome }
      return outcomes
    }
    return (receipt, outcomes)
  }

  private func outcome(
    of withdrawal: StartRace, until deadline: ContinuousClock.Instant
  ) async -> CancelOutcome {
    // What is done has nothing to be withdrawn from: the agent had it.
    if (try? workspace().message(withdrawal.message))?.status == .succeeded { return .invoked }
    let answer = await engine.ask(
      .outcome(withdrawal.message), within: max(.zero, deadline - .now))
    return switch withdrawal.ending(answer) {
    case .inTime: .cancelled
    case .tooLate: .invoked
    case .unconfirmed: .unconfirmed
    }
  }

  /// Edits a message; where it started with another text meanwhile, the text is kept as the
  /// session's draft.
  ///
  /// - Returns: what was done, and whether the authority confirmed it: where it does not say, the
  ///   edit counts unless the agent started with the old text meanwhile.
  /// - Throws: as `perform`; `.queue(.alreadyStarted)` where the agent has another text, and
  ///   `.queue(.messageFinished)` where it is done with it.
  public func edit(
    _ id: MessageID, content: String, base: EditBase?
  ) async throws(ClientError) -> (receipt: CommandReceipt, isConfirmed: Bool) {
    let before = engine.latest.workspace
    let receipt: CommandReceipt
    do {
      receipt = try await perform(.edit(id, content: content, base: base))
    } catch {
      switch error {
      case .queue(.alreadyStarted), .queue(.messageFinished):
        try await keepAsDraft(content, of: id)
      default: break
      }
      throw error
    }
    let race = StartRace(editing: id, from: before, to: engine.latest.workspace)
    let answer = await engine.ask(.outcome(id), within: QueueClient.raceAnswerLimit)
    switch race.ending(answer) {
    case .inTime: return (receipt, true)
    case .unconfirmed: return (receipt, false)
    case .tooLate:
      try await keepAsDraft(content, of: id)
      throw .queue(.alreadyStarted(id: id.description))
    }
  }

  /// Nothing that was written before is lost with it.
  private func keepAsDraft(_ content: String, of id: MessageID) async throws(ClientError) {
    guard let session = (try? workspace().message(id))?.session else { return }
    let before = try await draft(of: session)?.text
    guard before?.contains(content) != true else { return }
    try await setDraft((before.map { $0 + "\n\n" } ?? "") + content, of: session)
  }
}
