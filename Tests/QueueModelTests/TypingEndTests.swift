import SequenceCRDT
import SyncTestSupport
import Testing

@testable import QueueModel

/// A command ends the typing before it in place. The result is the same as on a copy: either both
/// change, or neither.
struct TypingEndTests {
  @Test(arguments: TestSeeds.list(standard: 10, from: 4_801))
  func aCommandThatComesToNothingLeavesTypingOpen(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator(sessionCount: 2, executes: false)
    var editors: CommandGenerator.OpenEditors = [:]
    var (workspace, history) = (Workspace(), UndoHistory())
    var clock = HybridClock()
    var milliseconds = TestDevice.startOfTime
    var typed = MessageID.numbered(1)
    var (ended, refused) = (0, 0)
    for step in 0..<400 {
      var command = commands.command(for: workspace, editors: &editors, using: &generator)
      if generator.chance(50), let session = workspace.sessions().first,
        let message = generator.pick(workspace.effectiveOrder(of: session.id))
      {
        // Usually two letters in a row.
        typed = generator.chance(70) && workspace.isTypable(typed) ? typed : message
        command = .insertText(typed, at: generator.below(2), text: "x")
      }
      milliseconds += Int64(generator.below(2_000))
      var context = CommandContext(
        replica: ReplicaID(rawValue: 1), stamp: clock.tick(milliseconds: milliseconds),
        queueSizeMax: 10)
      context.connection = generator.chance(50) ? 1 : nil
      let before = (workspace: workspace.image(), history: history)
      var (copy, past) = (workspace, history)
      let isEnded =
        history.openTyping != nil
        && !history.goesOn(with: command, at: context.stamp.milliseconds)
      let end = isEnded ? past.endTyping(of: &copy, in: context).outcome.operations : []
      let expected = try? copy.perform(command, in: context, history: &past)
      let found = try? workspace.perform(command, in: context, history: &history)
      let place = "seed \(seed) step \(step) \(command)"
      if let expected, !expected.outcome.operations.isEmpty || !expected.changes.isEmpty {
        if isEnded { ended += 1 }
        #expect(found?.outcome.operations == end + expected.outcome.operations, "\(place)")
        #expect(workspace.image() == copy.image() && history == past, "\(place)")
      } else {
        if isEnded { refused += 1 }
        #expect(found?.outcome.operations == expected?.outcome.operations, "\(place)")
        #expect(workspace.image() == before.workspace, "\(place)")
        #expect(history == before.history, "\(place)")
      }
      if step % 50 == 0 { try workspace.checkInvariants() }
    }
    #expect(ended > 5 && refused > 5, "seed \(seed): \(ended) ended, \(refused) came to nothing")
  }
}

extension Workspace {
  fileprivate func isTypable(_ id: MessageID) -> Bool {
    (try? message(id).status) == .queued
  }
}
