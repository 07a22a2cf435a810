import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@Suite struct CompactionTests {
  /// Seeded runs around a server that compacts, compared with the oracle at every step.
  @Test(arguments: TestSeeds.list(standard: 60))
  func compactingServerAgreesWithTheOracle(seed: UInt64) throws {
    var run = CompactionRun(seed: seed)
    try run.run(steps: 160)
    if seed <= 60 { #expect(run.commandsDone > 1) }
  }

  /// The runs above would show nothing if these things never happened in them.
  @Test func runsReachWhatTheyAreFor() throws {
    var made = 0
    var sent = 0
    var refused = 0
    var reanchored = 0
    for seed in 1...30 as ClosedRange<UInt64> {
      var run = CompactionRun(seed: seed)
      try run.run(steps: 160)
      made += run.basesMade
      sent += run.basesSent
      refused += run.batchesRefused
      reanchored += run.operationsReanchored
    }
    #expect(made > 60)
    #expect(sent > 20)
    #expect(refused > 10)
    #expect(reanchored > 6)
  }

  /// A device whose queue "main" holds 1, 2 and 3, with slots that died and text that was deleted.
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    for number in 1...3 as ClosedRange<UInt64> {
      try device.perform(.send("prompt \(number)", as: number, in: "main"))
    }
    for number in [3, 2, 1] as [UInt64] {
      try device.perform(.move([.numbered(number)], to: .position(1)))
    }
    try device.perform(.edit(.numbered(2), content: "pmt 2", base: nil))
    try device.perform(.cancel([.numbered(3)]))
    return device
  }

  @Test func nothingDeadIsLeftAndAllShows() throws {
    let device = try device()
    // Three slots and two requeued threads died, three letters were deleted.
    #expect(device.workspace.deadWeight == DeadWeight(dead: 8, total: 6 + 3 + 24))
    let compacted = device.workspace.compacted()
    #expect(compacted.deadWeight == DeadWeight(dead: 0, total: 3 + 1 + 21))
    #expect(compacted.dump() == device.workspace.dump())
    #expect(compacted.vector == device.workspace.vector)
    #expect(compacted.digest(of: device.replica) == device.workspace.digest(of: device.replica))
    try compacted.checkInvariants()
  }

  @Test func cancelledMessageCanBeRestoredAfterwards() throws {
    var device = try device()
    device.workspace = device.workspace.compacted()
    try device.perform(.restore(.numbered(3)))
    #expect(device.workspace.numbers("main") == [1, 2, 3])
    #expect(device.workspace.contents("main") == ["prompt 1", "pmt 2", "prompt 3"])
  }

  @Test func cancelledMessageIsTheSameOneForEver() throws {
    var device = try device()
    device.workspace = device.workspace.compacted()
    #expect(throws: QueueError.self) {
      try device.perform(.send("prompt 3", as: 3, in: "main"))
    }
  }

  @Test func consecutiveIdsStayOneRun() throws {
    var device = try device()
    try device.perform(.edit(.numbered(1), content: "prompt 1, and more of it", base: nil))
    let sessions = device.workspace.compacted().image().sessions
    for message in sessions.flatMap(\.messages) {
      for (before, after) in zip(message.additions[0].runs, message.additions[0].runs.dropFirst()) {
        #expect(before.slots.id.advanced(by: before.slots.length) != after.slots.id)
        #expect(after.slots.origins.right == nil)
      }
    }
  }

  @Test func emptyWorkspaceCompactsToItself() {
    #expect(Workspace().compacted().image() == Workspace().image())
    #expect(Workspace().deadWeight.percent == 0)
  }

  @Test func deletionOfADroppedScalarKeepsItsIdsAndDoesNothing() throws {
    var author = try device()
    var other = TestDevice(2)
    try other.merge(author.made)
    // Both delete "3"; the base was made from the author's deletion.
    try author.perform(.restore(.numbered(3)))
    try author.perform(.edit(.numbered(3), content: "prompt", base: nil))
    let base = author.workspace.compacted()
    try other.perform(.restore(.numbered(3)))
    try other.perform(.edit(.numbered(3), content: "a prompt", base: nil))
    let late = other.made
    let fitting = other.workspace.reanchored(late, onto: base)
    #expect(fitting.reduce(0) { $0 + $1.length } == late.reduce(0) { $0 + $1.length })
    #expect(fitting.map(\.id).first == late.map(\.id).first)
    var merged = base
    let outcome = try merged.merge(fitting)
    #expect(outcome.waiting == 0 && outcome.applied.count == fitting.count)
    #expect(merged.contents("main").last == "a prompt")
  }

  /// Replacing dropped origins by their neighbours would put the first insertion behind the
  /// surviving unit that the second one names as its right origin.
  @Test func insertionBesideADroppedUnitKeepsItsSideOfASurvivor() throws {
    var first = TestDevice(2)
    var second = TestDevice(1)
    try first.perform(.send("ab", as: 1, in: "main"))
    try second.merge(first.made)
    // The second one's letter survives, the first one's stands before it and is not sent.
    try second.perform(.edit(.numbered(1), content: "asb", base: nil))
    let known = first.made.count
    try first.perform(.edit(.numbered(1), content: "axb", base: nil))
    try first.merge(second.made)
    let shown = try #require(first.workspace.contents("main").first)
    try first.perform(.edit(.numbered(1), content: shown.replacing("x", with: "x!"), base: nil))
    let unsent = Array(first.made[known...])
    // Meanwhile "b" was deleted for all.
    try second.perform(.edit(.numbered(1), content: "as", base: nil))
    let base = second.workspace.compacted()
    try first.merge(second.made)
    let before = first.workspace.contents("main")
    var merged = base
    let outcome = try merged.merge(first.workspace.reanchored(unsent, onto: base))
    #expect(outcome.waiting == 0)
    #expect(merged.contents("main") == before)
  }
}
