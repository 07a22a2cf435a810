import NIOCore
import Synchronization

/// What is to be done where a connection closes while a request on it waits.
///
/// A kept connection serves many requests, so each takes back what it left here when it is over; the
/// connection itself is watched once.
final class ConnectionEnds: Sendable {
  typealias Action = @Sendable () -> Void

  private struct State {
    var actions: [ObjectIdentifier: [UInt64: Action]] = [:]
    var last: UInt64 = 0
  }

  private let state = Mutex(State())

  /// How many requests wait.
  var count: Int { state.withLock { $0.actions.values.reduce(0) { $0 + $1.count } } }

  /// How many connections are watched.
  var connections: Int { state.withLock { $0.actions.count } }

  /// Waits, and does something where the connection closes meanwhile.
  ///
  /// - Parameters:
  ///   - closing: the connection's `closeFuture`.
  ///   - action: done once, and not any more after `body` has returned.
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
