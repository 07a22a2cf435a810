import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// A host without a server, with every event that decides whether a message starts, in any order.
/// It is woken only at the time that it names. No message that may begin stays waiting, and no
/// other message begins.
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
