import QueueModel
import Testing

@testable import SyncDaemon

/// S-8, S-33, S-34: how to find out that an agent started a process.
@Suite struct TurnTraceTests {
  private static let unit =
    "/user.slice/user-1000.slice/user@1000.service/app.slice/cospoold.service"
  private static let message = "6424a6a6-8a1f-4d7f-9d3e-0c1d2e3f4a5b"

  /// It left its parents and cleared its environment: its group still shows to whom it belongs.
  @Test(arguments: ["", "/", "/own", "/turn-11111111-1111-4111-8111-111111111111-1"])
  func aDetachedProcessIsKnownByItsControlGroup(behind: String) throws {
    let trace = try #require(TurnTrace(group: "\(Self.unit)/turn-\(Self.message)-3\(behind)"))
    #expect(trace.message.description == Self.message && trace.attempt == 3)
    #expect(trace.origin == Self.unit)
  }

  @Test(arguments: [
    "", "/", unit, "\(unit)/", "\(unit)/turn-", "\(unit)/turn-x-1", "\(unit)/turn-\(message)",
    "\(unit)/turn-\(message)-", "\(unit)/turn-\(message)-70000", "\(unit)/own/turn-\(message)-1",
    "/user.slice/turn-\(message)-1", "/user.slice/session-3.scope",
  ])
  func otherGroupsAreNotTurns(group: String) {
    #expect(TurnTrace(group: group) == nil)
  }

  @Test func theEnvironmentNamesTheTurnAndItsDaemon() throws {
    let words: [Substring] = [
      "PATH=/bin", "COSPOOL_DATA=/home/a=b", "COSPOOL_MESSAGE=\(Self.message)", "COSPOOL_ATTEMPT=2",
      "COSPOOL_SESSION=own",
    ]
    let trace = try #require(TurnTrace(environment: words))
    #expect(trace.message.description == Self.message && trace.attempt == 2)
    #expect(trace.origin == "/home/a=b")
    // A user may name a session like this.
    #expect(TurnTrace(environment: ["COSPOOL_SESSION=own", "COSPOOL_DATA=/home/a"]) == nil)
    #expect(TurnTrace(environment: Array(words.dropLast(2))) == nil)
  }
}
