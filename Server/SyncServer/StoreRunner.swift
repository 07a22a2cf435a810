import NIOCore
import NIOPosix
import QueueModel
import ServerCore

/// Performs the core's tasks on the store's threads, and knows how long the oldest of them has
/// waited.
///
/// Everything except the tasks themselves happens on `loop`.
final class StoreRunner {
  let storage: any ServerStorage
  private let threads: StoreThreads
  private let loop: any EventLoop
  private let clock: ProcessClock
  /// The tasks of the packing thread, workspace by workspace.
  private let packing = PackingTurns()
  /// The uptime at which the store got each open task; tasks that wait for their turn do not count.
  private var began: [StoreTaskID: Int64] = [:]

  init(
    _ storage: any ServerStorage, threads: StoreThreads, loop: any EventLoop, clock: ProcessClock
  ) {
    self.storage = storage
    self.threads = threads
    self.loop = loop
    self.clock = clock
  }

  /// The thread of all tasks except packing, one after the other.
  var thread: NIOThreadPool { threads.tasks }
  var taskCount: Int { began.count }
  /// How long a thread of the store has been busy with the oldest task.
  var waitMilliseconds: Int64 {
    let now = clock.now.uptimeMilliseconds
    return now - min(began.values.min() ?? now, now)
  }

  /// Performs a task.
  ///
  /// - Parameter done: called with the result and the duration; it must return quickly, because it
  ///   blocks the loop.
  func perform(
    _ task: StoreTask, as id: StoreTaskID, then done: @escaping (StoreOutcome, Duration) -> Void
  ) {
    began[id] = task.place == .inOrder ? clock.now.uptimeMilliseconds : .max
    let bound = NIOLoopBound((self, done), eventLoop: loop)
    let answer =
      switch task.place {
      case .inOrder: run(task)
      case .beside(let workspace):
        pack(id, for: workspace) { [storage] in storage.timed(task) }
      case .preparedBeside(let workspace): prepareAndRun(task, as: id, of: workspace)
      }
    answer.whenComplete { result in
      let (runner, done) = bound.value
      runner.began[id] = nil
      switch result {
      case .success((let outcome, let time)): done(outcome, time)
      case .failure(let error):
        let fault = StorageFault(code: .unavailable, message: "the store's thread: \(error)")
        done(.failed(fault), .zero)
      }
    }
  }

  private func run(_ task: StoreTask) -> EventLoopFuture<(StoreOutcome, Duration)> {
    thread.runIfActive(eventLoop: loop) { [storage] in storage.timed(task) }
  }

  /// The preparation takes time in proportion to a workspace; no commit waits for it.
  private func prepareAndRun(
    _ task: StoreTask, as id: StoreTaskID, of workspace: WorkspaceID
  ) -> EventLoopFuture<(StoreOutcome, Duration)> {
    let bound = NIOLoopBound(self, eventLoop: loop)
    return pack(id, for: workspace) { task.preparation() }
      .flatMap { preparation in
        let runner = bound.value
        switch preparation {
        case .task(let rest): return runner.run(rest)
        case .done(let outcome): return runner.loop.makeSucceededFuture((outcome, .zero))
        }
      }
  }

  /// Runs work on the packing thread when it is the workspace's turn.
  private func pack<Value: Sendable>(
    _ id: StoreTaskID, for workspace: WorkspaceID, _ work: @escaping @Sendable () -> Value
  ) -> EventLoopFuture<Value> {
    let packed = loop.makePromise(of: Value.self)
    packing.wait(for: workspace) { [self] in
      began[id] = clock.now.uptimeMilliseconds
      let turns = NIOLoopBound(packing, eventLoop: loop)
      threads.packing.runIfActive(eventLoop: loop, work).whenComplete { result in
        turns.value.ended()
        packed.completeWith(result)
      }
    }
    return packed.futureResult
  }

  /// Runs other work after all waiting tasks.
  func run<Value: Sendable>(
    _ work: @escaping @Sendable (any ServerStorage) throws -> Value
  ) -> EventLoopFuture<Value> {
    let storage = storage
    return thread.runIfActive(eventLoop: loop) { try work(storage) }
  }

  /// The owner of a token; nil if it is wrong, revoked or expired.
  func holder(ofToken token: [UInt8]) -> EventLoopFuture<TokenRecord?> {
    let now = clock.now.wallMilliseconds
    return run { storage in
      guard let record = try storage.token(hash: secretHash(token)), !record.isRevoked,
        !record.hasExpired(at: now)
      else { return nil }
      return record
    }
  }
}

extension ServerStorage {
  /// Performs a task.
  ///
  /// - Returns: the result and the duration.
  fileprivate func timed(_ task: StoreTask) -> (StoreOutcome, Duration) {
    let start = ContinuousClock.now
    return (perform(task), start.duration(to: .now))
  }
}
