import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The history of changes that carry no stamp.
struct HistoryTests {
  /// A decision is ordered by its attempt and its time, and the history shows that time.
  @Test(arguments: [false, true]) func aDecisionHasItsOwnTime(_ skips: Bool) throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    let run = Run(token: 1, attempt: 1, phase: .failed, milliseconds: device.now, note: "no")
    try device.perform(.reportRun(.numbered(1), run))
    device.now += 3_600_000
    let outcome = try device.perform(skips ? .skip(.numbered(1)) : .retry(.numbered(1)))
    let entry = try #require(
      device.workspace.history(of: outcome.operations).first {
        $0.action == (skips ? .skipped : .retried)
      })
    #expect(entry.milliseconds == device.now)
  }

  /// A host keeps its session: that is no addition of it.
  @Test func aHostIsNamedInOneEntry() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    let outcome = try device.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
    let actions = device.workspace.history(of: outcome.operations).map(\.action.name)
    #expect(actions == ["setHost"])
  }
}
