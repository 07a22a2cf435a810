import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The log names edits of users, and not changes that devices make by themselves.
@Suite struct TidiedLettersTests {
  private static let id = EditionTests.id

  private func edits(_ operations: [Operation], _ device: TestDevice) -> [HistoryAction] {
    device.workspace.history(of: operations).map(\.action).filter {
      if case .edited = $0 { true } else { false }
    }
  }

  /// Two devices saved one text, whose letters are there twice until its agent starts.
  @Test func tidyingForAnAgentIsNotAnEditOfItsHost() throws {
    var pair = try EditionTests.Pair("Bump", "Bump to 2.0", "Bump to 2.0")
    let run = Run(token: 1, attempt: 1, phase: .dispatched, milliseconds: pair.one.now)
    let outcome = try pair.one.perform(.reportRun(Self.id, run))
    #expect(outcome.operations.contains { if case .deleteText = $0.body { true } else { false } })
    #expect(edits(outcome.operations, pair.one).isEmpty)
    #expect(try pair.one.workspace.message(Self.id).content == "Bump to 2.0")
  }

  @Test func forgettingIsNotAnEdit() throws {
    var device = TestDevice(1)
    try device.perform(.send("Deploy", as: 1, in: "s"))
    let edit = try device.perform(.edit(Self.id, content: "Deploy it", base: nil))
    let shorter = try device.perform(.edit(Self.id, content: "Deploy", base: nil))
    try device.perform(.cancel([Self.id]))
    let outcome = try device.author { workspace, context throws(QueueError) in
      try workspace.forget([Self.id], in: context)
    }
    #expect(try device.workspace.message(Self.id).content.isEmpty)
    #expect(edits(outcome.operations, device).isEmpty)
    // The edits of its user are still there.
    #expect(edits(edit.operations, device).count == 1)
    #expect(edits(shorter.operations, device).count == 1)
  }
}
