import QueueModel
import Testing

@testable import SyncDaemon

/// What counts as a block in a row of an agent that is fed at the end of its turns.
@Suite struct LiveSeatsTests {
  private let seats = LiveSeats()

  private func stop(
    followsBlock: Bool, hookStart: UInt64? = nil, blocksMax: Int
  ) -> LiveSeats.Stop {
    LiveSeats.Stop(
      followsBlock: followsBlock, hookStart: hookStart, blocksMax: blocksMax,
      result: .succeeded(summary: ""))
  }

  /// As where they are installed for the person and for the project.
  @Test(arguments: [1, 2, 3]) func severalHooksOfOneEventAreOneBlock(hooks: Int) throws {
    let session = try SessionID("live")
    var given = 0
    for turn in 0..<20 {
      let outcomes = (0..<hooks).map { _ in
        seats.stopped(session, stop(followsBlock: turn > 0, blocksMax: 7), wantsPrompt: true)
      }
      #expect(outcomes.map(\.endedTurn) == outcomes.indices.map { $0 == 0 && turn > 0 && turn < 8 })
      guard outcomes.last?.seat != nil else { continue }
      #expect(seats.give("p", to: session) != nil)
      given += 1
    }
    #expect(given == 7)
  }

  /// The first one was told that nothing waits, before the second one asked.
  @Test func aHookThatBeganBeforeAnotherWasHeardIsOfItsEvent() throws {
    let session = try SessionID("live")
    seats.prompted(session, with: .died(""))
    let began = AgentProcess.ticks()
    let first = seats.stopped(
      session, stop(followsBlock: true, hookStart: began, blocksMax: 2), wantsPrompt: true)
    let seat = try #require(first.seat)
    #expect(seats.close(session, number: seat.number))
    let second = seats.stopped(
      session, stop(followsBlock: true, hookStart: began, blocksMax: 2), wantsPrompt: true)
    let other = try #require(second.seat)
    #expect(seats.close(session, number: other.number))
    // Another program's hook made the agent go on meanwhile.
    let next = seats.stopped(
      session, stop(followsBlock: true, hookStart: .max, blocksMax: 2), wantsPrompt: true)
    #expect(next.seat == nil)
  }
}
