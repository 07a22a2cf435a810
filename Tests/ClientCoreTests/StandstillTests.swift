import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// A host without a server, to which everything happens that decides whether a message starts, in any
/// order, and which is woken at the time that it names alone: nothing that may begin stands still, and
/// nothing begins that may not.
struct StandstillTests {
  @Test(arguments: TestSeeds.list(standard: 60))
  func nothingThatMayBeginStandsStill(_ seed: UInt64) throws {
    var world = try StandstillWorld(seed: seed)
    for _ in 0..<4 {
      for _ in 0..<40 { try world.act() }
      try world.rest()
    }
  }
}
