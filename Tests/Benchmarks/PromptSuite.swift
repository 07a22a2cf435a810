import QueueModel
import SequenceCRDT
import WireProtocol

/// Editing traces, typed into a message by commands: the cost of typing, the size of the history as
/// a delta and the cost of merging it, and the cost of opening a snapshot.
enum PromptSuite {
  private static let sequentialTraces = ["automerge-paper", "seph-blog1", "sveltecomponent"]

  static func measure(_ options: BenchOptions) throws -> [Result] {
    guard let folder = options.traces else { return [] }
    var results: [Result] = []
    for name in sequentialTraces {
      let trace = try TraceFile.sequential(name, in: folder)
      results += try sequential(trace, name: "prompt/\(name)", runs: options.runs)
    }
    let trace = try TraceFile.concurrent("friendsforever", in: folder)
    return results + (try merge(trace, name: "prompt/friendsforever/merge", runs: options.runs))
  }

  private static func sequential(
    _ trace: SequentialTrace, name: String, runs: Int
  ) throws -> [Result] {
    let device = try TypedMessage.device(typing: trace)
    let history = PackedDelta.pack(device.log)
    let stored = PackedSnapshot.packRaw(device.workspace)
    func requireTraced(_ content: String) throws { try check(content, trace.endContent, name) }
    let bytes = { (row: String, count: Int) in
      Result(name: "\(name)/\(row)", metric: "bytes", value: Double(count))
    }
    return [
      try Stopwatch.median("\(name)/typing", runs: runs) {
        try TypedMessage.device(typing: trace)
      } check: {
        try requireTraced(TypedMessage.content(in: $0.workspace))
      },
      try load("\(name)/load-history", history, runs: runs, check: requireTraced),
      try Stopwatch.median("\(name)/open", runs: runs) {
        let workspace = try PackedSnapshot.open(stored)
        return (workspace, try TypedMessage.content(in: workspace))
      } check: {
        try requireTraced($0.1)
      },
      bytes("history-zlib", history.count),
      bytes("snapshot-zlib", PackedSnapshot.pack(device.workspace).count),
    ]
  }

  /// Merges two authors' edits, neither of whom had seen all of the other's, on a third device.
  private static func merge(
    _ trace: ConcurrentTrace, name: String, runs: Int
  ) throws -> [Result] {
    let operations = try ConcurrentAuthors(trace).operations.flatMap { $0 }
    let total = try load(name, PackedDelta.pack(operations), runs: runs) {
      try check($0, trace.endContent, name)
    }
    let each = total.value / Double(operations.count)
    return [total, Result(name: "\(name)/an-event", metric: "seconds", value: each)]
  }

  /// A delta into an empty workspace: inflated, checked, merged, shown.
  private static func load(
    _ name: String, _ delta: [UInt8], runs: Int, check: (String) throws -> Void
  ) throws -> Result {
    try Stopwatch.median(name, runs: runs) {
      var workspace = Workspace()
      _ = try workspace.merge(PackedDelta.unpack(delta))
      return (workspace, try TypedMessage.content(in: workspace))
    } check: {
      try check($0.1)
    }
  }

  private static func check(_ content: String, _ expected: String, _ name: String) throws {
    try BenchFailure.require(
      content == expected + TypedMessage.end, "\(name): the text differs from the trace's")
  }
}
