import QueueModel
import SyncClient
import Synchronization

/// The turns that run or are made ready, by their sessions.
final class TurnTable: Sendable {
  private struct Turn {
    var attempt: UInt16
    var leave: StartLeave
    var stop: AsyncStream<Void>.Continuation
  }

  private let turns = Mutex<[SessionID: Turn]>([:])

  /// - Returns: what tells that the turn is to be stopped.
  func prepare(_ session: SessionID, attempt: UInt16, _ leave: StartLeave) -> AsyncStream<Void> {
    let (stops, stop) = AsyncStream<Void>.makeStream()
    turns.withLock { $0[session] = Turn(attempt: attempt, leave: leave, stop: stop) }
    return stops
  }

  /// One that has not begun never does.
  func stop(_ session: SessionID, attempt: UInt16) {
    guard let turn = turn(of: session, attempt: attempt) else { return }
    turn.leave.decide(false)
    turn.stop.yield()
  }

  func end(_ session: SessionID, attempt: UInt16) {
    let ended = turns.withLock { turns -> Turn? in
      guard let turn = turns[session], turn.attempt == attempt else { return nil }
      turns[session] = nil
      return turn
    }
    ended?.stop.finish()
  }

  private func turn(of session: SessionID, attempt: UInt16) -> Turn? {
    turns.withLock { turns in
      guard let turn = turns[session], turn.attempt == attempt else { return nil }
      return turn
    }
  }
}
