import QueueModel
import Synchronization

/// The running turns, by their sessions.
final class TurnTable: Sendable {
  private struct Turn {
    var attempt: UInt16
    var stop: AsyncStream<Void>.Continuation
  }

  private let turns = Mutex<[SessionID: Turn]>([:])

  /// - Returns: a stream that yields when the turn must be stopped.
  func begin(_ session: SessionID, attempt: UInt16) -> AsyncStream<Void> {
    let (stops, stop) = AsyncStream<Void>.makeStream()
    turns.withLock { $0[session] = Turn(attempt: attempt, stop: stop) }
    return stops
  }

  func stop(_ session: SessionID, attempt: UInt16) {
    let turn = turns.withLock { $0[session] }
    if turn?.attempt == attempt { turn?.stop.yield() }
  }

  func end(_ session: SessionID, attempt: UInt16) {
    let ended = turns.withLock { turns -> Turn? in
      guard let turn = turns[session], turn.attempt == attempt else { return nil }
      turns[session] = nil
      return turn
    }
    ended?.stop.finish()
  }
}
