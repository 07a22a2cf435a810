import Dispatch

/// The one thread of control of an engine, since storing blocks: runs the engine itself, and tasks that
/// hand events to it, which then need no other thread to wake.
final class EngineQueue: SerialExecutor, TaskExecutor {
  private let queue = DispatchQueue(label: "cospool.client")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Does something behind what was handed over before.
  func async(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// The same after a time, in milliseconds.
  func async(after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: max(0, milliseconds))), execute: body)
  }
}
