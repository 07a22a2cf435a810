import AgentFormats
import Synchronization

/// The calls of an MCP server that wait for a user, by the ids of their requests.
final class MCPWaiting: Sendable {
  /// The maximum number of calls that wait at the same time.
  static let callsMax = 64

  private let calls = Mutex<[String: AsyncStream<Void>.Continuation]>([:])

  /// A call begins to wait.
  ///
  /// - Returns: a stream that ends when the call is cancelled; nil if a call with this id waits
  ///   already, or too many calls wait.
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

  /// A call has ended.
  ///
  /// - Returns: whether it must still be answered.
  func end(_ id: JSONTree) -> Bool {
    calls.withLock { $0.removeValue(forKey: id.line) } != nil
  }
}
