import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import SyncSimulation

/// The findings of `OrderChecker`: the device has its messages, and the checker gets an order.
@Suite struct OrderCheckerTests {
  private let simulation = Simulation.twoDevices()
  private let checker = OrderChecker()

  private func perform(_ command: Command) {
    simulation.apply(.perform(device: 0, .command(command)))
  }

  private func queue(_ numbers: [UInt64]) throws {
    for number in numbers { perform(.send("text", as: number, in: "s")) }
  }

  /// Reports to the checker that the device queued these, in this order.
  private func claim(_ numbers: [UInt64]) throws {
    let workspace = try simulation.devices[0].workspace()
    let operation = Operation(
      id: .init(replica: .init(rawValue: 1), seq: 1),
      body: .openSession(session: .named("s"), clears: []))
    for number in numbers {
      let found = checker.noted(
        .performed(
          device: 0, .command(.send("text", as: number, in: "s")), before: workspace,
          CommandOutcome(operations: [operation], notice: .done)), in: simulation)
      #expect(found == [])
    }
  }

  @Test func anotherOrderIsFound() throws {
    try queue([1, 2, 3])
    try claim([1, 3, 2])
    #expect(checker.settled(in: simulation).count == 1)
  }

  @Test func theOrderOfQueueingHolds() throws {
    try queue([1, 2, 3])
    try claim([1, 2, 3])
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func triedMessagesAreFirst() throws {
    try queue([1, 2, 3])
    try claim([1, 2, 3])
    let run = Run(token: 1, attempt: 1, phase: .interrupted, milliseconds: 0)
    perform(.reportRun(.numbered(3), run))
    perform(.retry(.numbered(3)))
    #expect(checker.settled(in: simulation) == [])
  }

  @Test func operationsWithNewIDsMayChangeTheirOrder() throws {
    try queue([1, 2, 3, 4, 5])
    try claim([1, 3, 2])
    _ = checker.noted(.reauthored(device: 0), in: simulation)
    #expect(checker.settled(in: simulation) == [])
    try claim([5, 4])
    #expect(checker.settled(in: simulation).count == 1)
  }
}
