import Synchronization

/// Where the orders for agents go, in the order in which they were given.
final class OrderStream: Sendable {
  private let continuation: AsyncStream<ExecutionOrder>.Continuation
  private let waiting = Mutex<[ExecutionOrder]>([])
  private let messenger: QuietMessenger

  init(_ continuation: AsyncStream<ExecutionOrder>.Continuation) {
    self.continuation = continuation
    messenger = QuietMessenger()
    messenger.start { [weak self] in self?.giveWaiting() }
  }

  deinit { messenger.stop() }

  /// Gives an order, behind those that wait.
  func give(_ order: ExecutionOrder) {
    waiting.withLock { waiting in
      letGo(&waiting)
      continuation.yield(order)
    }
  }

  /// Gives an order when whoever gave it waits for something, or with the next one. Whom an order wakes
  /// may run in the place of whoever gave it, even where another processor idles: who has something to
  /// do first that takes only a moment, and then waits itself, gives it so.
  func giveSoon(_ order: ExecutionOrder) {
    waiting.withLock { $0.append(order) }
    messenger.wake()
  }

  func finish() {
    giveWaiting()
    continuation.finish()
    messenger.stop()
  }

  private func giveWaiting() { waiting.withLock { letGo(&$0) } }

  private func letGo(_ waiting: inout [ExecutionOrder]) {
    for order in waiting { continuation.yield(order) }
    waiting = []
  }
}
