import Dispatch

/// Runs turns one at a time.
protocol TurnQueue: AnyObject, Sendable {
  /// Runs a turn of an engine or of a task, in an order that the queue chooses.
  func run(_ turn: @escaping @Sendable () -> Void)
  /// Runs `body` after earlier turns.
  func runBehind(_ body: @escaping @Sendable () -> Void)
  /// The same after a time, in milliseconds.
  func run(after milliseconds: Int64, _ body: @escaping @Sendable () -> Void)
  /// Traps outside of a turn.
  func checkIsTurn()
}

/// Turns in the order of their arrival.
final class DispatchTurns: TurnQueue {
  private let queue = DispatchQueue(label: "cospool.client")

  func run(_ turn: @escaping @Sendable () -> Void) { queue.async(execute: turn) }

  func runBehind(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  func run(after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    queue.asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: max(0, milliseconds))), execute: body)
  }

  func checkIsTurn() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// The single thread of an engine, because storing blocks. It runs the engine and the tasks that
/// pass events to it, so that no other thread has to wake.
final class EngineQueue: SerialExecutor, TaskExecutor {
  let turns: any TurnQueue

  init(_ turns: any TurnQueue) { self.turns = turns }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    turns.run {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }

  func checkIsolated() { turns.checkIsTurn() }
}
