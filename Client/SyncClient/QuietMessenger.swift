import Dispatch
import Foundation
import Synchronization

/// A thread that does something when whoever wakes it has nothing to do itself.
///
/// Whom a thread wakes may run in its place at once, even where another processor idles. This one never
/// does on Linux (sched(7), `SCHED_BATCH`: it does not preempt). A timer would do as well, but the thread
/// that watches timers comes first then: 40 µs for setting it, and 100 µs for that thread.
final class QuietMessenger: Sendable {
  private let calls = DispatchSemaphore(value: 0)
  private let isStopped = Atomic(false)

  /// Begins, once. Where the system has no thread left, nothing is ever done.
  func start(_ work: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [self] in
      #if os(Linux)
        var parameters = sched_param()
        // `SCHED_BATCH`, which the headers keep for themselves. Where it is refused, it preempts.
        sched_setscheduler(0, 3, &parameters)
      #endif
      while true {
        calls.wait()
        guard !isStopped.load(ordering: .acquiring) else { return }
        work()
      }
    }
  }

  /// Has the work done once more, soon.
  func wake() { calls.signal() }

  /// Ends the thread, which holds on to this until then.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    calls.signal()
  }
}
