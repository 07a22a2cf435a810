import Dispatch
import Synchronization

/// Where the orders for agents go, in the order in which they were given.
final class OrderStream: Sendable {
  /// For how long an order may wait that is given `soon`.
  private static let wait = DispatchTimeInterval.microseconds(100)

  private let continuation: AsyncStream<ExecutionOrder>.Continuation
  private let waiting = Mutex<[ExecutionOrder]>([])

  init(_ continuation: AsyncStream<ExecutionOrder>.Continuation) {
    self.continuation = continuation
  }

  /// Gives an order, behind those that wait.
  func give(_ order: ExecutionOrder) {
    waiting.withLock { waiting in
      letGo(&waiting)
      continuation.yield(order)
    }
  }

  /// Gives an order a moment later, or with the next one. Whom an order wakes may run in the place of
  /// whoever gave it, even where another processor idles: who has something to do first that takes
  /// only a moment, and then waits itself, gives it so.
  func giveSoon(_ order: ExecutionOrder) {
    waiting.withLock { $0.append(order) }
    DispatchQueue.global().asyncAfter(deadline: .now() + OrderStream.wait) {
      self.waiting.withLock { self.letGo(&$0) }
    }
  }

  func finish() {
    waiting.withLock { letGo(&$0) }
    continuation.finish()
  }

  private func letGo(_ waiting: inout [ExecutionOrder]) {
    for order in waiting { continuation.yield(order) }
    waiting = []
  }
}
