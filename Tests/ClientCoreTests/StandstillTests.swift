import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// A host without a server, with every event that decides whether a message starts, in any order.
/// It is woken only at the time that it names. No message that may begin stays waiting, and no
/// other message begins.
struct StandstillTests {
  @Test(arguments: TestSeeds.list(standard: 60))
  func nothingThatMayBeginIsStuck(_ seed: UInt64) throws {
    var world = try StandstillWorld(seed: seed)
    for _ in 0..<4 {
      for _ in 0..<40 { try world.act() }
      try world.rest()
    }
  }

  /// A merged message for later is in line by a clock that is ahead, and holds the queue. The clock is
  /// set right, and the message behind it starts.
  @Test func aClockThatIsSetBackStartsWhatCameIntoLine() throws {
    var fleet = try Fleet(devices: 2)
    fleet.follows = true
    try fleet.start()
    let session = SessionID.named("s")
    let (first, second) = (MessageID.numbered(1), MessageID.numbered(2))
    try fleet.perform(.send("Bump the version", as: 1, in: "s"), on: 0)
    try fleet.perform(.setLater(first, fleet.wall + 1_800_000), on: 0)
    try fleet.perform(.send("Fix the test", as: 2, in: "s"), on: 0)
    try fleet.pass(5_000)
    for device in 0...1 {
      fleet.cut(device)
      try fleet.perform(
        .edit(first, content: "Bump the version to \(device).0", base: nil), on: device)
    }
    fleet.serverError = 3_600_000
    try fleet.pass(60_000)
    #expect(try fleet.devices[0].core.replica.workspace.message(first).isMerged)
    fleet.note(0) { core, context, store in
      core.executionStarted(
        ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
        store: store)
    }
    try fleet.perform(.setHost(session, fleet.devices[0].id), on: 0)
    try fleet.pass(60_000)
    #expect(try fleet.devices[0].core.replica.workspace.message(second).status == .queued)
    fleet.serverError = 0
    fleet.cut(0)
    try fleet.pass(60_000)
    #expect(try fleet.devices[0].core.replica.workspace.message(second).status == .running)
  }
}
