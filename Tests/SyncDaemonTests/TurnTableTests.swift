import QueueModel
import Testing

@testable import SyncDaemon

@Suite struct TurnTableTests {
  @Test func aStopIsOfItsOwnAttempt() async throws {
    let turns = TurnTable()
    let session = try SessionID("s")
    let stops = turns.begin(session, attempt: 2)
    turns.stop(session, attempt: 1)
    turns.stop(session, attempt: 2)
    turns.end(session, attempt: 2)
    var count = 0
    for await _ in stops { count += 1 }
    #expect(count == 1)
  }
}
