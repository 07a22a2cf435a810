import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// Execution under faults: nothing starts twice, nothing is lost, and nothing that was cancelled
/// starts.
struct ExecutorTests {
  @Test(arguments: TestSeeds.list(standard: 40))
  func everyAttemptStartsOnceAndEveryMessageEnds(seed: UInt64) throws {
    var world = try ExecutorWorld(seed: seed)
    try world.run(steps: 400)
    try world.settle()
    #expect(world.violations == [], "seed \(seed) (set COSPOOL_SEED=\(seed))")
    guard world.sent > 0 else { return }
    for number in 1...world.sent {
      guard let message = try? world.server.message(.numbered(number)) else { continue }
      let isOver = [.succeeded, .skipped, .cancelled].contains(message.status)
      #expect(isOver, "seed \(seed): message \(number) is \(message.status)")
      if message.status == .succeeded {
        #expect(world.starts[message.id]?.isEmpty == false, "seed \(seed): never started")
      }
    }
  }

  /// The runs above would prove nothing if nothing ran in them.
  @Test func runsRun() throws {
    var starts = 0
    for seed in 1...10 as ClosedRange<UInt64> {
      var world = try ExecutorWorld(seed: seed)
      try world.run(steps: 400)
      try world.settle()
      starts += world.starts.values.reduce(0) { $0 + $1.count }
    }
    #expect(starts > 100)
  }
}
