import AgentFormats
import Synchronization

/// The calls of an MCP server that wait for a user, by the ids of their requests.
final class MCPWaiting: Sendable {
  /// Calls that may wait at once.
  static let callsMax = 64

  private let calls = Mutex<[String: AsyncStream<Void>.Continuation]>([:])

  /// A call begins to wait.
  ///
  /// - Returns: a stream that ends when the call is cancelled; nil if one of this id waits, or too
  ///   many do.
  func begin(_ id: JSONTree) -> AsyncStream<Void>? {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    return calls.withLock { calls in
      guard calls[id.line] == nil, calls.count < Self.callsMax else { return nil }
      calls[id.line] = continuation
      return stream
    }
  }

  /// The agent no longer wants the answer. An id without a waiting call is ignored.
  func cancel(_ id: JSONTree) {
    calls.withLock { $0.removeValue(forKey: id.line) }?.finish()
  }

  /// The agent is gone.
  func cancelAll() {
    let all = calls.withLock { calls in
      defer { calls = [:] }
      return calls
    }
    for continuation in all.values { continuation.finish() }
  }

  /// A call is done.
  ///
  /// - Returns: whether it is still to be answered.
  func end(_ id: JSONTree) -> Bool {
    calls.withLock { $0.removeValue(forKey: id.line) } != nil
  }
}
