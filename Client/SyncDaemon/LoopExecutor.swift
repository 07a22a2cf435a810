import NIOCore
import NIOPosix

/// Runs tasks on the thread of one event loop: input from its sockets is processed there, without
/// waking another thread.
final class LoopExecutor: TaskExecutor {
  /// Used only on the loop.
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
