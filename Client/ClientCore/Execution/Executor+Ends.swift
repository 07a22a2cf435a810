import QueueModel

/// What is said of attempts that ended, and decided about them.
extension Executor {
  /// Says that nobody knows what became of an attempt, and does what the settings say then.
  mutating func recover(
    _ order: StartOrder, _ phase: RunPhase, at occasion: Occasion
  ) -> [Action] {
    counters.unknown += 1
    return [end(order, phase, "", then: policy(after: order, at: occasion), at: occasion)]
  }

  /// Says how an attempt ended, and does what follows.
  mutating func reports(
    of run: ActiveRun, _ result: RunResult, at occasion: Occasion
  ) -> [Action] {
    let order = run.order
    let silentEnds = seats[order.session]?.silentEnds
    seats[order.session]?.silentEnds = SilentEnds(message: order.message, count: 0)
    switch (result, run.stopping) {
    case (.succeeded(let summary), _):
      seats[order.session]?.spawnFailures = 0
      return [end(order, .succeeded, summary, at: occasion)]
    case (_, .person?):
      return [end(order, .cancelled, "A person stopped it.", at: occasion)]
    case (_, .deleted?):
      return [end(order, .cancelled, "Its session was deleted.", at: occasion)]
    case (.tryLater(let time, let reason), _):
      let earliest = occasion.wall + settings.laterMillisecondsMin
      let latest = occasion.wall + settings.laterMillisecondsMax
      return [tryAgain(order, notBefore: min(max(time, earliest), latest), reason, at: occasion)]
    case (.tryAfter(let wait, let reason), _):
      let wait = min(max(0, wait), settings.laterMillisecondsMax)
      return [tryAgain(order, notBefore: occasion.wall + wait, reason, at: occasion)]
    case (.notStarted(let reason), _):
      return [notStarted(order, reason, at: occasion)]
    case (.failed(let error), nil):
      let skip: [Command] = settings.skipsFailed ? [.skip(order.message)] : []
      return [end(order, .failed, error, then: skip, at: occasion)]
    case (.died, _), (.failed, _):
      seats[order.session]?.silentEnds = silentEnds
      let decision = run.isOfPerson ? [] : policy(after: order, at: occasion)
      return [end(order, .interrupted, run.note(of: result), then: decision, at: occasion)]
    }
  }

  /// What the settings say where an attempt ended and nobody said how it went.
  ///
  /// A person decides where the agent is a person's own: it may go on with the prompt. And after
  /// `startsMax` attempts in a row that ended so: what ends its agent may be the message.
  mutating func policy(after order: StartOrder, at occasion: Occasion) -> [Command] {
    guard mode(of: order.session) != .gated else { return [] }
    switch settings.onUnknown {
    case .ask: return []
    case .skip: return [.skip(order.message)]
    case .retry: break
    }
    // Where earlier ends are not known, after a crash or elsewhere, all of them count.
    let known = seats[order.session]?.silentEnds.flatMap {
      $0.message == order.message ? $0.count + 1 : nil
    }
    let count = known ?? Int(order.attempt)
    guard count < settings.startsMax else {
      // A person who wants it tried again wants it as often once more.
      seats[order.session]?.silentEnds = SilentEnds(message: order.message, count: 0)
      return []
    }
    seats[order.session]?.silentEnds = SilentEnds(message: order.message, count: count)
    let pause = backoff(after: count - 1, at: occasion)
    seats[order.session]?.backoffUntil = occasion.now + pause
    return [.retry(order.message)]
  }

  /// The agent never got the prompt, so trying again is harmless; but not for ever.
  private mutating func notStarted(
    _ order: StartOrder, _ reason: String, at occasion: Occasion
  ) -> Action {
    let failures = (seats[order.session]?.spawnFailures ?? 0) + 1
    guard failures < settings.startsMax else {
      seats[order.session]?.spawnFailures = 0
      return end(order, .failed, reason, at: occasion)
    }
    seats[order.session]?.spawnFailures = failures
    let pause = backoff(after: failures - 1, at: occasion)
    seats[order.session]?.backoffUntil = occasion.now + pause
    return end(order, .interrupted, reason, then: [.retry(order.message)], at: occasion)
  }

  private func tryAgain(
    _ order: StartOrder, notBefore time: Int64, _ reason: String, at occasion: Occasion
  ) -> Action {
    end(
      order, .interrupted, reason,
      then: [.setNotBefore(order.message, time), .retry(order.message)], at: occasion)
  }

  private func end(
    _ order: StartOrder, _ phase: RunPhase, _ note: String, then commands: [Command] = [],
    at occasion: Occasion
  ) -> Action {
    let run = order.run(phase, milliseconds: occasion.wall, note: note)
    return .end(.reportRun(order.message, run), then: commands, order.message)
  }
}

extension ActiveRun {
  /// Why nobody knows how it went.
  fileprivate func note(of result: RunResult) -> String {
    switch stopping {
    case .leaseLost?: return "The host lost its lease and stopped the agent."
    case .drained?: return "The host stopped while the agent worked."
    case .person?, .deleted?, nil: break
    }
    if case .died(let how) = result { return how }
    return ""
  }
}
