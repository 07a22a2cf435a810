import QueueModel
import Synchronization

/// The sessions whose agents a person works with, and where each is: at the end of a turn, where a
/// hook waits for the next prompt, or at work on one that it was given.
final class LiveSeats: Sendable {
  private struct Seat {
    /// A hook that waits for a prompt, by number, so that a late end does not meet a later one.
    var waiting: (number: UInt64, prompt: AsyncStream<String>.Continuation)?
    /// The turn that was given out and has not ended.
    var turn: AsyncStream<AgentResult>.Continuation?
  }

  private struct State {
    var seats: [SessionID: Seat] = [:]
    var lastNumber: UInt64 = 0

    mutating func tidy(_ session: SessionID) {
      if let seat = seats[session], seat.waiting == nil, seat.turn == nil { seats[session] = nil }
    }
  }

  /// Sessions that may have a seat at once; more get no prompts.
  static let seatsMax = 1_000

  private let state = Mutex(State())

  /// A hook waits from now on; one that waited before gets nothing any more.
  ///
  /// - Returns: where the prompt comes, and the number to stop waiting with; nil where there are too
  ///   many seats.
  func open(_ session: SessionID) -> (number: UInt64, prompts: AsyncStream<String>)? {
    let (prompts, prompt) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let (number, before) = state.withLock { state -> (UInt64?, AsyncStream<String>.Continuation?) in
      guard state.seats.count < LiveSeats.seatsMax || state.seats[session] != nil else {
        return (nil, nil)
      }
      state.lastNumber += 1
      let before = state.seats[session]?.waiting?.prompt
      state.seats[session, default: Seat()].waiting = (state.lastNumber, prompt)
      return (state.lastNumber, before)
    }
    before?.finish()
    return number.map { ($0, prompts) }
  }

  /// Whether a hook waits.
  func isAwaiting(_ session: SessionID) -> Bool {
    state.withLock { $0.seats[session]?.waiting != nil }
  }

  /// The hook waits no longer.
  ///
  /// - Returns: false where its prompt is on its way already.
  func close(_ session: SessionID, number: UInt64) -> Bool {
    let waiting = state.withLock { state -> AsyncStream<String>.Continuation? in
      guard let seat = state.seats[session]?.waiting, seat.number == number else { return nil }
      state.seats[session]?.waiting = nil
      state.tidy(session)
      return seat.prompt
    }
    waiting?.finish()
    return waiting != nil
  }

  /// Gives a prompt to the hook that waits.
  ///
  /// - Returns: where the end of the turn comes; nil where no hook waits.
  func give(_ prompt: String, to session: SessionID) -> AsyncStream<AgentResult>? {
    let (ends, end) = AsyncStream<AgentResult>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let waiting = state.withLock { state -> AsyncStream<String>.Continuation? in
      guard let seat = state.seats[session]?.waiting else { return nil }
      state.seats[session]?.waiting = nil
      state.seats[session]?.turn = end
      return seat.prompt
    }
    guard let waiting else { return nil }
    waiting.yield(prompt)
    waiting.finish()
    return ends
  }

  /// The turn that was given out ended.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  func end(_ session: SessionID, with result: AgentResult) -> Bool {
    let turn = state.withLock { state -> AsyncStream<AgentResult>.Continuation? in
      defer { state.tidy(session) }
      defer { state.seats[session]?.turn = nil }
      return state.seats[session]?.turn
    }
    turn?.yield(result)
    turn?.finish()
    return turn != nil
  }
}

/// An agent that a person works with: it gets prompts from its Stop hook, one at the end of each turn.
struct LiveAgent: Agent {
  var seats: LiveSeats

  /// A prompt that nobody waited for is not lost, and not failed.
  static let retryMilliseconds: Int64 = 1_000

  /// It works where its person began it.
  func folder(
    of project: String?, otherwise: String
  ) throws(ProjectFolder.Missing) -> String? { nil }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> AgentResult {
    guard let ends = seats.give(turn.prompt, to: turn.session) else {
      return .tryAfter(
        milliseconds: LiveAgent.retryMilliseconds,
        reason: "The agent was not at the end of a turn any more.")
    }
    report(.started)
    for await result in ends { return result }
    // The task was cancelled. Nobody but its person can stop the agent.
    seats.end(turn.session, with: .died(""))
    return .died("It goes on at its person's prompt, and is not waited for any more.")
  }
}
