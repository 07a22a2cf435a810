import Dispatch

/// Runs tasks on a dispatch queue: what they hand to the queue then needs no other thread to wake.
final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
