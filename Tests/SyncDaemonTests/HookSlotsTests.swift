import QueueModel
import Testing

@testable import SyncDaemon

/// What counts as a consecutive block of an agent that gets prompts at the end of its turns.
@Suite struct HookSlotsTests {
  private let slots = HookSlots()

  private func stop(
    followsBlock: Bool, hookStart: UInt64? = nil, blocksMax: Int
  ) -> HookSlots.Stop {
    HookSlots.Stop(
      followsBlock: followsBlock, hookStart: hookStart, blocksMax: blocksMax,
      result: .succeeded(summary: ""))
  }

  /// As if they were installed for both the user and the project.
  @Test(arguments: [1, 2, 3]) func severalHooksOfOneEventAreOneBlock(hooks: Int) throws {
    let session = try SessionID("live")
    var given = 0
    for turn in 0..<20 {
      let outcomes = (0..<hooks).map { _ in
        slots.stopped(session, stop(followsBlock: turn > 0, blocksMax: 7), wantsPrompt: true)
      }
      #expect(outcomes.map(\.endedTurn) == outcomes.indices.map { $0 == 0 && turn > 0 && turn < 8 })
      guard outcomes.last?.slot != nil else { continue }
      #expect(slots.give("p", to: session) != nil)
      given += 1
    }
    #expect(given == 7)
  }

  /// The first one got the answer that nothing waits, before the second one asked.
  @Test func aHookThatBeganBeforeAnotherWasHeardIsOfItsEvent() throws {
    let session = try SessionID("live")
    slots.prompted(session, with: .died(""))
    let began = AgentProcess.ticks()
    let first = slots.stopped(
      session, stop(followsBlock: true, hookStart: began, blocksMax: 2), wantsPrompt: true)
    let slot = try #require(first.slot)
    #expect(slots.close(session, number: slot.number))
    let second = slots.stopped(
      session, stop(followsBlock: true, hookStart: began, blocksMax: 2), wantsPrompt: true)
    let other = try #require(second.slot)
    #expect(slots.close(session, number: other.number))
    // Meanwhile, another program's hook made the agent continue.
    let next = slots.stopped(
      session, stop(followsBlock: true, hookStart: .max, blocksMax: 2), wantsPrompt: true)
    #expect(next.slot == nil)
  }
}
