import Synchronization

/// Wakes those who wait for a change: whenever the daemon reports one, and once a second while it
/// does not answer.
final class DaemonChanges: Sendable {
  private struct State {
    var number = 0
    var wakes: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Mutex(State())

  /// One element at once, and one after changes, however many there were.
  func wakes() -> AsyncStream<Void> {
    let (stream, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.number += 1
      state.wakes[state.number] = wake
      return state.number
    }
    wake.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.wakes.removeValue(forKey: number) }
    }
    wake.yield()
    return stream
  }

  func wakeAll() {
    for wake in state.withLock({ Array($0.wakes.values) }) { wake.yield() }
  }

  /// Follows the daemon's events until the task is cancelled.
  func follow(_ connection: DaemonConnection) async {
    while !Task.isCancelled {
      var lines = EventLines()
      try? await connection.exchange.follow(APIRequest(.get, ["events"])) { bytes in
        if lines.holdsEvent(in: bytes) { wakeAll() }
      }
      wakeAll()
      try? await Task.sleep(for: Watcher.reconnectDelay)
    }
  }
}
