import NIOCore
import Synchronization

/// Actions for connections that close while a request on them waits.
///
/// A kept connection serves many requests, so each removes its action at its end; the connection
/// itself is watched once.
final class ConnectionEnds: Sendable {
  typealias Action = @Sendable () -> Void

  private struct State {
    var actions: [ObjectIdentifier: [UInt64: Action]] = [:]
    var last: UInt64 = 0
  }

  private let state = Mutex(State())

  /// The number of waiting requests.
  var count: Int { state.withLock { $0.actions.values.reduce(0) { $0 + $1.count } } }

  /// The number of watched connections.
  var connections: Int { state.withLock { $0.actions.count } }

  /// Waits, and runs an action if the connection closes meanwhile.
  ///
  /// - Parameters:
  ///   - closing: the connection's `closeFuture`.
  ///   - action: runs once, and not after `body` has returned.
  func during<Value>(
    _ closing: EventLoopFuture<Void>, onClose action: @escaping Action,
    _ body: () async throws -> Value
  ) async rethrows -> Value {
    let number = add(action, to: closing)
    defer { remove(number, from: closing) }
    return try await body()
  }

  private func add(_ action: @escaping Action, to closing: EventLoopFuture<Void>) -> UInt64 {
    let connection = ObjectIdentifier(closing)
    let (number, isNew) = state.withLock { state in
      state.last += 1
      let isNew = state.actions[connection] == nil
      state.actions[connection, default: [:]][state.last] = action
      return (state.last, isNew)
    }
    if isNew {
      closing.whenComplete { [weak self] _ in self?.closed(connection) }
    }
    return number
  }

  private func remove(_ number: UInt64, from closing: EventLoopFuture<Void>) {
    state.withLock { $0.actions[ObjectIdentifier(closing)]?[number] = nil }
  }

  private func closed(_ connection: ObjectIdentifier) {
    let actions = state.withLock { $0.actions.removeValue(forKey: connection) }
    for action in (actions ?? [:]).values { action() }
  }
}
