import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// The findings of `FifoChecker`: the device shows its messages, and the checker gets the time and
/// place of each send.
@Suite struct FifoCheckerTests {
  private let simulation = Simulation.twoDevices()
  private let checker = FifoChecker()

  private func queue(_ numbers: [UInt64]) {
    for number in numbers {
      simulation.apply(.perform(device: 0, .command(.send("text", as: number, in: "s"))))
    }
  }

  /// Reports to the checker that a device sent a message to the beginning of the queue.
  private func claim(_ number: UInt64, by device: Int = 0) throws {
    let workspace = try simulation.devices[0].workspace()
    let session = OperationID(replica: .init(rawValue: 1), seq: 2)
    let addition = Operation(
      id: .init(replica: .init(rawValue: 1), seq: 3),
      body: .addMessage(
        Operation.AddMessage(
          message: .numbered(number), session: session, origins: .init(left: nil, right: nil),
          stamp: .zero, priority: .normal, clears: [])))
    let found = checker.noted(
      .performed(
        device: device, .command(.send("text", as: number, in: "s")), before: workspace,
        CommandOutcome(operations: [addition], notice: .done)), in: simulation)
    #expect(found == [])
  }

  @Test func theOrderOfSendingHolds() throws {
    queue([1, 2])
    try claim(1)
    simulation.advance(milliseconds: 5)
    try claim(2)
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func anotherOrderIsFound() throws {
    queue([1, 2])
    try claim(2)
    simulation.advance(milliseconds: 5)
    try claim(1)
    #expect(checker.settled(in: simulation).count == 1)
  }

  @Test func messagesSentAtOneTimeHaveNoOrder() throws {
    queue([1, 2])
    try claim(2)
    try claim(1)
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func aClockThatIsWrongClaimsNothing() throws {
    queue([1, 2])
    try claim(2)
    simulation.advance(milliseconds: 5)
    simulation.apply(.setClock(device: 1, offsetMilliseconds: 3_000))
    try claim(1, by: 1)
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func movedMessagesClaimNothing() throws {
    queue([1, 2])
    try claim(2)
    simulation.advance(milliseconds: 5)
    try claim(1)
    let move = Command.move([.numbered(1)], to: .position(1))
    let workspace = try simulation.devices[0].workspace()
    _ = checker.noted(
      .performed(device: 0, .command(move), before: workspace, CommandOutcome(notice: .done)),
      in: simulation)
    #expect(checker.settled(in: simulation) == [])
  }
}
