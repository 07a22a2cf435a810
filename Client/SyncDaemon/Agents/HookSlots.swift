import QueueModel
import Synchronization

/// The sessions whose agents users work with, and the state of each: at the end of a turn, where a
/// hook waits for the next prompt, or at work on a prompt of the queue.
final class HookSlots: Sendable {
  private struct Slot {
    /// A hook that waits for a prompt, by number, so that a late end does not affect a later hook.
    var waiting: (number: UInt64, prompt: AsyncStream<String>.Continuation)?
    /// The turn that was handed out and has not ended.
    var turn: AsyncStream<TurnResult>.Continuation?
    /// When it was handed out, in clock ticks since the system's start.
    var givenAt: UInt64 = 0
    /// When the latest end of a turn was first reported, on the same clock.
    var stoppedAt: UInt64 = 0
    /// How many times hooks made the agent continue since its user's last prompt; nil if that is
    /// not known.
    var blocks: Int?
    /// The process of the agent, if its hooks name it.
    var process: AgentProcess?

    var isIdle: Bool { waiting == nil && turn == nil }

    /// Whether another hook of the same event has reported this end of a turn: it still waits, or
    /// was received after this one began. The agent lets no turn begin before all of these hooks
    /// have ended.
    func knows(_ stop: Stop) -> Bool {
      turn == nil && (waiting != nil || stop.hookStart.map { $0 <= stoppedAt } ?? false)
    }
  }

  private struct State {
    var slots: [SessionID: Slot] = [:]
    var lastNumber: UInt64 = 0

    /// - Returns: whether a place is free.
    mutating func makePlace(for session: SessionID) -> Bool {
      guard slots[session] == nil, slots.count >= HookSlots.slotsMax else { return true }
      guard let idle = slots.first(where: { $0.value.isIdle })?.key else { return false }
      slots[idle] = nil
      return true
    }
  }

  /// The maximum number of sessions with a slot; further ones get no prompts.
  static let slotsMax = 1_000

  private let state = Mutex(State())

  /// What a Stop hook reports about its agent.
  struct Stop: Sendable {
    /// Whether a hook began the turn that ends; nil if the agent does not report it.
    var followsBlock: Bool?
    /// When the hook began, in clock ticks since the system's start.
    var hookStart: UInt64?
    /// The agent ignores hooks after this many blocks in a row; nil if there is no limit.
    var blocksMax: Int?
    var process: AgentProcess?
    var result: TurnResult
  }

  /// The consequences of a stop.
  struct StopOutcome: Sendable {
    /// Another hook reported this end of the turn already, and its prompt is at work.
    var isRepeated = false
    /// Whether the end was that of a turn that was handed out.
    var endedTurn = false
    /// The stream of the next prompt, and the number with which to stop waiting.
    var slot: (number: UInt64, prompts: AsyncStream<String>)?
  }

  /// A turn ended. If a prompt is wanted and the agent would accept it, a hook waits from now on; a
  /// hook that waited before receives nothing.
  func stopped(_ session: SessionID, _ stop: Stop, wantsPrompt: Bool) -> StopOutcome {
    let (prompts, prompt) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingOldest(1))
    var outcome = StopOutcome()
    let (turn, before) = state.withLock {
      state -> (AsyncStream<TurnResult>.Continuation?, AsyncStream<String>.Continuation?) in
      guard state.makePlace(for: session) else { return (nil, nil) }
      var slot = state.slots[session] ?? Slot()
      if slot.turn != nil {
        // A hook that began before the prompt was handed out reports the end of the turn before it.
        let isOld = stop.hookStart.map { $0 < slot.givenAt } ?? (stop.followsBlock == false)
        guard !isOld else {
          outcome.isRepeated = true
          return (nil, nil)
        }
      }
      let wasFed = slot.turn != nil
      if !slot.knows(stop) {
        slot.stoppedAt = AgentProcess.ticks()
        switch stop.followsBlock {
        case false?: slot.blocks = 0
        case true?: slot.blocks = slot.blocks.map { $0 + 1 }
        case nil: slot.blocks = wasFed ? slot.blocks.map { $0 + 1 } : 0
        }
      }
      let turn = slot.turn
      slot.turn = nil
      slot.process = stop.process
      outcome.endedTurn = wasFed
      let isTaken = stop.blocksMax.map { (slot.blocks ?? .max) < $0 } ?? true
      var before: AsyncStream<String>.Continuation?
      if wantsPrompt, isTaken {
        state.lastNumber += 1
        before = slot.waiting?.prompt
        slot.waiting = (state.lastNumber, prompt)
        outcome.slot = (state.lastNumber, prompts)
      }
      state.slots[session] = slot
      return (turn, before)
    }
    before?.finish()
    turn?.yield(stop.result)
    turn?.finish()
    return outcome
  }

  /// Its user typed a prompt.
  func prompted(_ session: SessionID, with result: TurnResult) {
    state.withLock { state in
      if state.makePlace(for: session) { state.slots[session, default: Slot()].blocks = 0 }
    }
    end(session, with: result)
  }

  /// The agent of a session, if its hooks name it.
  func process(of session: SessionID) -> AgentProcess? {
    state.withLock { $0.slots[session]?.process }
  }

  /// Whether a hook waits.
  func isAwaiting(_ session: SessionID) -> Bool {
    state.withLock { $0.slots[session]?.waiting != nil }
  }

  /// The hook no longer waits.
  ///
  /// - Returns: false if its prompt is on its way already.
  func close(_ session: SessionID, number: UInt64) -> Bool {
    let waiting = state.withLock { state -> AsyncStream<String>.Continuation? in
      guard let slot = state.slots[session]?.waiting, slot.number == number else { return nil }
      state.slots[session]?.waiting = nil
      return slot.prompt
    }
    waiting?.finish()
    return waiting != nil
  }

  /// Gives a prompt to the hook that waits.
  ///
  /// - Returns: the stream of the end of the turn; nil if no hook waits.
  func give(_ prompt: String, to session: SessionID) -> AsyncStream<TurnResult>? {
    let (ends, end) = AsyncStream<TurnResult>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let waiting = state.withLock { state -> AsyncStream<String>.Continuation? in
      guard let slot = state.slots[session]?.waiting else { return nil }
      state.slots[session]?.waiting = nil
      state.slots[session]?.turn = end
      state.slots[session]?.givenAt = AgentProcess.ticks()
      return slot.prompt
    }
    guard let waiting else { return nil }
    waiting.yield(prompt)
    waiting.finish()
    return ends
  }

  /// The turn that was handed out has ended.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func end(_ session: SessionID, with result: TurnResult) -> Bool {
    let turn = state.withLock { state -> AsyncStream<TurnResult>.Continuation? in
      defer { state.slots[session]?.turn = nil }
      return state.slots[session]?.turn
    }
    turn?.yield(result)
    turn?.finish()
    return turn != nil
  }
}

/// An agent that a user works with: it gets prompts from its Stop hook, one at the end of each
/// turn.
struct LiveAgent: Agent {
  var slots: HookSlots

  /// A prompt for which no hook waits is neither lost nor failed.
  static let retryMilliseconds: Int64 = 1_000

  /// The agent works in the folder in which its user started it.
  func folder(
    of project: String?, otherwise: String
  ) throws(ProjectFolder.Missing) -> String? { nil }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    guard let ends = slots.give(turn.promptWithFiles, to: turn.session) else {
      return .tryAfter(
        LiveAgent.retryMilliseconds,
        reason: "The agent was no longer at the end of a turn.")
    }
    report(.started)
    let process = slots.process(of: turn.session)
    let end = await withTaskGroup(of: TurnResult?.self) { group in
      group.addTask {
        for await result in ends { return result }
        return nil
      }
      // If a wrapper of the hook was mistaken for the agent, it has ended already.
      if let process, process.isAlive {
        group.addTask { await gone(process) }
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    if let end {
      slots.end(turn.session, with: end)
      return end
    }
    // The task was cancelled. Only its user can stop the agent.
    slots.end(turn.session, with: .died(""))
    return .died("The agent continues at its own prompt; Cospool no longer waits for it.")
  }
  /// The time between two checks of the agent's process.
  static let watchPeriod = Duration.seconds(2)

  /// Waits for the end of a process: a killed process reports nothing.
  ///
  /// - Returns: nil if the turn ended before.
  private func gone(_ process: AgentProcess) async -> TurnResult? {
    while process.isAlive {
      guard (try? await Task.sleep(for: LiveAgent.watchPeriod)) != nil else { return nil }
    }
    return .died("The agent's process has ended without reporting it.")
  }
}
