import QueueModel

/// Reports about ended attempts, and decisions about them.
extension Executor {
  /// Reports that an attempt's outcome is unknown, and applies the settings for that case.
  mutating func recover(
    _ order: StartOrder, _ phase: RunPhase, then commands: [Command] = [], at context: EventContext
  ) -> [Action] {
    counters.unknown += 1
    let decision = policy(after: order, at: context)
    return [end(order, phase, "", then: commands + decision, at: context)]
  }

  /// Reports that the outcome of an attempt that was taken over is unknown; a user decides, unless one
  /// stopped it.
  mutating func gaveUp(
    _ order: StartOrder, in workspace: Workspace, at context: EventContext
  ) -> Action {
    counters.unknown += 1
    let note =
      "Another device took it over, because its host was away. That host stops the agent when it is back."
    return end(
      order, .unknown, note, then: endOfTask(of: order, note, in: workspace, at: context),
      at: context)
  }

  /// Ends the task that the former host of an attempt reported: it reports nothing more, and its
  /// agent's requests no longer wait.
  func endOfTask(
    of order: StartOrder, _ note: String, in workspace: Workspace, at context: EventContext
  ) -> [Command] {
    let session = order.session
    let reporter = workspace.taskDevice(of: session)
    let host = RanText.runner(of: order.message, in: workspace) ?? reporter
    guard let task = workspace.keptTask(of: session)?.state, task.status.kind.isUnderWay,
      reporter != device, reporter == host
    else { return [] }
    let isStopped = Withdrawal.stops(order.attempt, at: order.message, in: workspace)
    let status = isStopped ? TaskStatus.completed(.cancelled) : .error(message: note)
    let outcome = task.status.request.flatMap { AskOutcome(request: $0.id, ending: .withdrawn) }
    return status.path(from: task.status.kind).enumerated().map { index, step in
      .reportTask(
        TaskReport(
          session: session, status: step, milliseconds: context.wall,
          outcome: index == 0 ? outcome : nil, token: sessions[session]?.lease.token))
    }
  }

  /// Reports how an attempt ended, and performs the consequences.
  mutating func reports(
    of run: ActiveRun, stopped reason: StopReason?, _ result: TurnResult, at context: EventContext
  ) -> [Action] {
    let order = run.order
    let silentEnds = sessions[order.session]?.past.silentEnds
    sessions[order.session]?.past.silentEnds = SilentEnds(message: order.message, count: 0)
    switch (result, reason) {
    case (.succeeded(let summary), _):
      sessions[order.session]?.past.spawnFailures = 0
      return [end(order, .succeeded, summary, at: context)]
    case (_, .person?):
      return [end(order, .cancelled, "A user stopped it.", at: context)]
    case (_, .deleted?):
      return [end(order, .cancelled, "Its session was deleted.", at: context)]
    case (.tryLater(let time, let reason), _):
      let earliest = context.wall + ExecutorTimes.laterMillisecondsMin
      let latest = context.wall + ExecutorTimes.laterMillisecondsMax
      return [tryAgain(order, notBefore: min(max(time, earliest), latest), reason, at: context)]
    case (.tryAfter(let wait, let reason), _):
      let wait = min(max(0, wait), ExecutorTimes.laterMillisecondsMax)
      return [tryAgain(order, notBefore: context.wall + wait, reason, at: context)]
    case (.notStarted(let reason), _):
      return [notStarted(order, reason, at: context)]
    case (.failed(let error), nil):
      let skip: [Command] = settings.skipsFailed ? [.skip(order.message)] : []
      return [end(order, .failed, error, then: skip, at: context)]
    case (.died, _), (.failed, _):
      sessions[order.session]?.past.silentEnds = silentEnds
      // The user who took over the attempt decides.
      let isDecided = run.isOfPerson || reason == .fenced
      let decision = isDecided ? [] : policy(after: order, at: context)
      return [
        end(order, .interrupted, note(of: result, stopped: reason), then: decision, at: context)
      ]
    }
  }

  /// The settings' decision for an attempt with an unknown outcome.
  ///
  /// A user decides if the agent is the user's own: it may continue with the prompt. A user also
  /// decides after `startsMax` such attempts in a row: the message itself may end its agent.
  mutating func policy(after order: StartOrder, at context: EventContext) -> [Command] {
    guard mode(of: order.session) != .gated else { return [] }
    switch settings.onUnknown {
    case .ask: return []
    case .skip: return [.skip(order.message)]
    case .retry: break
    }
    // If earlier ends are unknown, after a crash or elsewhere, all of them count.
    let known = sessions[order.session]?.past.silentEnds.flatMap {
      $0.message == order.message ? $0.count + 1 : nil
    }
    let count = known ?? Int(order.attempt)
    guard count < ExecutorTimes.startsMax else {
      // After a user's retry, the same number of attempts is allowed again.
      sessions[order.session]?.past.silentEnds = SilentEnds(message: order.message, count: 0)
      return []
    }
    sessions[order.session]?.past.silentEnds = SilentEnds(message: order.message, count: count)
    let pause = backoff(after: count - 1, at: context)
    sessions[order.session]?.times.backoffUntil = context.now + pause
    return [.retry(order.message)]
  }

  /// The agent never got the prompt, so trying again is safe; but not forever.
  private mutating func notStarted(
    _ order: StartOrder, _ reason: String, at context: EventContext
  ) -> Action {
    let failures = (sessions[order.session]?.past.spawnFailures ?? 0) + 1
    guard failures < ExecutorTimes.startsMax else {
      sessions[order.session]?.past.spawnFailures = 0
      return end(order, .failed, reason, at: context)
    }
    sessions[order.session]?.past.spawnFailures = failures
    let pause = backoff(after: failures - 1, at: context)
    sessions[order.session]?.times.backoffUntil = context.now + pause
    return end(order, .interrupted, reason, then: [.retry(order.message)], at: context)
  }

  private func tryAgain(
    _ order: StartOrder, notBefore time: Int64, _ reason: String, at context: EventContext
  ) -> Action {
    end(
      order, .interrupted, reason,
      then: [.setNotBefore(order.message, time), .retry(order.message)], at: context)
  }

  private func end(
    _ order: StartOrder, _ phase: RunPhase, _ note: String, then commands: [Command] = [],
    at context: EventContext
  ) -> Action {
    let run = order.run(phase, milliseconds: context.wall, note: note)
    return .end(.reportRun(order.message, run), then: commands, order)
  }

  /// Why the outcome is unknown.
  private func note(of result: TurnResult, stopped reason: StopReason?) -> String {
    switch reason {
    case .fenced?: return "Another device has the session now, so the host stopped the agent."
    case .serverLost?: return "The host stopped the agent because its server did not answer."
    case .drained?: return "The host stopped while the agent worked."
    case .person?, .deleted?, nil: break
    }
    if case .died(let how) = result { return how }
    return ""
  }
}
