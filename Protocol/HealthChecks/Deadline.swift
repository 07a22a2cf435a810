import Dispatch

/// Work that must not be waited for longer than so.
package enum Deadline {
  /// What the work says, or `otherwise` where it takes too long; the work is cancelled then, and not
  /// waited for.
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

  /// What blocks its thread, on one of its own.
  package static func blocking<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async
    -> Value
  {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "cospool.check").async { continuation.resume(returning: work()) }
    }
  }
}
