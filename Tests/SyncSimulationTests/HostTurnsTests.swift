import QueueModel
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// What `HostTurns` counts as a start that an undo brings about.
@Suite struct HostTurnsTests {
  /// A message for later starts no sooner without a hold that ends before that.
  @Test(arguments: [true, false]) func aHoldThatEndsBeforeHoldsNothingUp(isForLater: Bool) throws {
    var device = TestDevice(1)
    let message = MessageID.numbered(1)
    let time = VirtualClock.startOfTime + 1_000_000
    try device.perform(.send("text", as: 1, in: "s"))
    try device.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
    if isForLater { try device.perform(.setLater(message, time + 1_000)) }
    try device.perform(.hold(message, until: time))
    let before = device.workspace
    try device.perform(.hold(message, until: nil))
    let found = HostTurns.started(in: [.named("s")], from: before, to: device.workspace)
    #expect(found.isEmpty == isForLater, "\(found)")
  }
}
