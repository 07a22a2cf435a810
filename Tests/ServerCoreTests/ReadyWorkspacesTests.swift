import QueueModel
import Testing

@testable import ServerCore

/// The order in which workspaces' batches are examined.
@Suite struct ReadyWorkspacesTests {
  private static func id(_ number: Int) -> WorkspaceID { WorkspaceID(high: 1, low: UInt64(number)) }

  /// The workspaces of one round, each with one batch of the given work.
  private func round(_ ready: inout ReadyWorkspaces, work: [Int: Int] = [:]) -> [Int] {
    ready.beginRound()
    var order: [Int] = []
    while let next = ready.next(before: .max) {
      let number = Int(next.low)
      order.append(number)
      ready.worked(work[number] ?? 1, for: next, hasMore: false)
    }
    let isLeft = ready.endRound()
    #expect(!isLeft)
    return order
  }

  @Test func theLeastServedIsFirst() {
    var ready = ReadyWorkspaces()
    for number in [3, 1, 2, 3] { ready.enter(Self.id(number)) }
    #expect(round(&ready, work: [3: 10, 1: 5]) == [3, 1, 2], "in order of arrival at first")
    for number in [3, 1, 2] { ready.enter(Self.id(number)) }
    #expect(round(&ready) == [2, 1, 3])
  }

  @Test func theBusierWaitsBehindItsPeers() throws {
    var ready = ReadyWorkspaces()
    for number in 1...3 { ready.enter(Self.id(number)) }
    ready.beginRound()
    var order: [Int] = []
    while let next = ready.next(before: 3) {
      order.append(Int(next.low))
      ready.worked(next == Self.id(1) ? 2 : 1, for: next, hasMore: true)
    }
    #expect(order == [1, 2, 3, 2, 3, 1, 2, 3])
    // A workspace that enters meanwhile comes after those without a turn.
    ready.enter(Self.id(4))
    let isLeft = ready.endRound()
    #expect(isLeft)
    #expect(Set(ready.takeAll()) == Set((1...4).map(Self.id)))
    #expect(ready.isEmpty)
  }

  @Test(.timeLimit(.minutes(1))) func aRoundOfManyTakesLinearTime() {
    var ready = ReadyWorkspaces()
    for _ in 0..<3 {
      for number in 1...30_000 { ready.enter(Self.id(number)) }
      #expect(round(&ready).count == 30_000)
    }
  }
}
