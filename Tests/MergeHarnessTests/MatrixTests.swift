import QueueModel
import QueueOracle
import SequenceCRDT
import Testing

@testable import MergeHarness

@Suite struct MatrixTests {
  private func operations(_ count: Int) -> [Operation] {
    var workspace = Workspace()
    return (0..<count).flatMap { number in
      workspace.announce(
        device: DeviceID(high: 1, low: UInt64(number)), name: "n",
        replica: ReplicaID(rawValue: UInt64(number + 1)))
    }
  }

  @Test func ordersAreAllDifferent() {
    for (count, expected) in [(0, 1), (1, 1), (2, 2), (4, 24), (5, 120), (7, 120), (40, 120)] {
      let operations = operations(count)
      let orders = Array(DeliveryOrders(operations, max: 120))
      #expect(orders.count == expected)
      #expect(Set(orders.map { $0.map(\.id) }).count == expected)
      for order in orders { #expect(Set(order.map(\.id)) == Set(operations.map(\.id))) }
    }
  }

  @Test func aPairAgreesWithOracleAndContract() throws {
    let pair = try #require(PairMatrix.pairs.first { !$0.facts.isEmpty })
    let verdict = PairResult(pair)
    #expect(verdict.faults == [])
    #expect(verdict.orders > 0 && verdict.facts > 0)
    #expect(verdict.mark == "●")
  }

  @Test func theTableShowsWhatIsWrong() throws {
    var right = PairResult(PairMatrix.pairs[0])
    right.facts = 0
    right.first = "move"
    right.second = "cancel"
    var wrong = right
    wrong.second = "clear"
    wrong.faults = ["contract: 3 is not cancelled"]
    let text = MatrixText(verdicts: [right, wrong])
    #expect(text.table == "          1  2\n    move  ·  ✗")
    #expect(text.faults == "move ∥ clear\n  contract: 3 is not cancelled")
    #expect(text.summary.hasSuffix("1 pairs do not agree"))
  }
}
