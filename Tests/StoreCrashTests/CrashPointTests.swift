import Foundation
import QueueOracle
import SyncTestSupport
import Testing

/// The work of a few users on real SQLite files, with power failures at every step.
///
/// Short in CI; `COSPOOL_CRASH_POINTS=1000` runs the long form, `COSPOOL_SEED` one seed again.
@Suite struct CrashPointTests {
  /// Crash points for each seed; then a new world begins, so that logs stay short.
  static let crashesPerSeed = 20

  static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    let points = environment["COSPOOL_CRASH_POINTS"].flatMap(Int.init) ?? 200
    return TestSeeds.list(
      standard: (points + crashesPerSeed - 1) / crashesPerSeed, from: 3)
  }

  @Test func nothingAnsweredIsEverLost() throws {
    var total = CrashWorld.Statistics()
    var lostWrites = 0
    var unsyncedWrites = 0
    for seed in Self.seeds {
      let world = try CrashWorld(seed: seed)
      while world.statistics.crashes < Self.crashesPerSeed {
        try world.threaten()
        let before = world.statistics.crashes
        for _ in 0..<40 where world.statistics.crashes == before { try world.step() }
      }
      try world.settle()
      total.add(world.statistics)
      for disk in world.devices.map(\.disk) + [world.server.disk] {
        lostWrites += disk.statistics.lostAtCrashes
        unsyncedWrites += disk.statistics.unsyncedAtCrashes
      }
    }
    print(
      """
      \(total.crashes) crashes (\(total.deviceCrashes) of devices, \(total.serverCrashes) of the \
      server, \(total.midTransaction) in the middle of a transaction), \(total.commands) commands, \
      \(total.operations) operations; \(lostWrites) of \(unsyncedWrites) unsynced writes lost or \
      torn; \(total.sentAndLost) crashes over commands that were sent and not yet on the disk; \
      \(total.writers) replica ids, none used twice; 0 answered operations lost
      """)
    // A run without such crashes would show nothing.
    #expect(total.midTransaction * 2 > total.crashes)
    #expect(total.deviceCrashes > 0 && total.serverCrashes > 0)
    #expect(lostWrites > total.crashes)
    #expect(total.operations > total.crashes)
    // About one crash in forty is of that kind.
    #expect(total.sentAndLost > 0)
  }
}

extension CrashWorld.Statistics {
  fileprivate mutating func add(_ other: CrashWorld.Statistics) {
    crashes += other.crashes
    deviceCrashes += other.deviceCrashes
    serverCrashes += other.serverCrashes
    midTransaction += other.midTransaction
    commands += other.commands
    operations += other.operations
    writers += other.writers
    sentAndLost += other.sentAndLost
  }
}
