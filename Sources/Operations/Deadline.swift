import Dispatch

/// Work with a time limit.
package enum Deadline {
  /// The result of the work, or `otherwise` if the work takes too long; then the work is cancelled,
  /// without waiting for its end.
  package static func value<Value: Sendable>(
    within limit: Duration, otherwise: Value, _ work: @escaping @Sendable () async -> Value
  ) async -> Value {
    let (stream, continuation) = AsyncStream<Value>.makeStream()
    let working = Task.detached { continuation.yield(await work()) }
    let timer = Task.detached {
      try? await Task.sleep(for: limit)
      continuation.yield(otherwise)
    }
    defer {
      timer.cancel()
      working.cancel()
    }
    for await value in stream { return value }
    return otherwise
  }

  /// Runs blocking work on its own thread.
  package static func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async
    -> Value
  {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "cospool.check").async { continuation.resume(returning: work()) }
    }
  }
}
