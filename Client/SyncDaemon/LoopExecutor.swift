import NIOCore
import NIOPosix

/// Runs tasks on the thread of one event loop: what comes out of its sockets is dealt with there,
/// without another thread to wake.
final class LoopExecutor: TaskExecutor {
  /// The loop's alone.
  let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let loop: any EventLoop

  init() {
    loop = group.next()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
