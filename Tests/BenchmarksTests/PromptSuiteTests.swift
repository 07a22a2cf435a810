import QueueModel
import Testing

@testable import Benchmarks

/// Traces become commands, and a message holds the text that was typed.
@Suite struct PromptSuiteTests {
  @Test func aTraceIsTypedPatchByPatch() throws {
    let trace = SequentialTrace(
      patches: [
        Patch(position: 0, deleted: 0, inserted: "abc"),
        Patch(position: 1, deleted: 1, inserted: "X👍"),
        Patch(position: 0, deleted: 1, inserted: ""),
      ],
      endContent: "X👍c")
    let device = try TypedMessage.device(typing: trace)
    let typed = device.log.filter(\.isOfText)
    #expect(try TypedMessage.content(in: device.workspace) == "X👍c" + TypedMessage.end)
    // The text that the message was sent with is one; a patch that deletes and inserts is two.
    #expect(typed.count == 5)
  }

  @Test func concurrentEditsMeetOnAThirdDevice() throws {
    let trace = ConcurrentTrace(
      transactions: [
        .init(parents: [], agent: 0, patches: [Patch(position: 0, deleted: 0, inserted: "ac")]),
        .init(parents: [0], agent: 1, patches: [Patch(position: 1, deleted: 0, inserted: "b")]),
        .init(parents: [0], agent: 0, patches: [Patch(position: 1, deleted: 1, inserted: "")]),
        .init(parents: [1, 2], agent: 1, patches: [Patch(position: 2, deleted: 0, inserted: "!")]),
      ],
      agentCount: 2, endContent: "ab!")
    var reader = BenchDevice(replica: 99)
    for operations in try ConcurrentAuthors(trace).operations { try reader.merge(operations) }
    #expect(try TypedMessage.content(in: reader.workspace) == "ab!" + TypedMessage.end)
  }

  @Test func theSuiteSaysWhatItNeeds() throws {
    let obstacle = try #require(Suite.prompt.obstacle(BenchOptions()))
    #expect(obstacle.contains("--traces DIR"))
    #expect(Suite.prompt.obstacle(BenchOptions(traces: "traces")) == nil)
  }
}

extension QueueModel.Operation {
  fileprivate var isOfText: Bool {
    switch body {
    case .insertText, .deleteText: true
    default: false
    }
  }
}
