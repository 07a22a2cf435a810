import QueueModel
import SequenceCRDT
import Testing

@testable import Benchmarks

/// The suite merges what commands make.
@Suite struct QueueSuiteTests {
  @Test func movesAreThoseOfTheCommand() throws {
    let replica: UInt64 = 0x9E37_79B9
    let choices = [(4, 0), (0, 5), (2, 3), (4, 5), (5, 1), (1, 3)]
      .map { (message: $0.0, index: $0.1) }
    let moves = try ConcurrentMoves(SessionID("queue"), count: 6)
    var device = BenchDevice(replica: replica)
    try device.merge(moves.origin.log)
    for choice in choices {
      let target = MoveTarget.position(choice.index + 1)
      let made = try device.perform(.move([QueueSuite.id(choice.message)], to: target))
      #expect(made.count == 1, "\(choice) moves nothing")
    }
    #expect(
      try moves.operations(choices, by: ReplicaID(rawValue: replica)) == device.log)
  }
}
