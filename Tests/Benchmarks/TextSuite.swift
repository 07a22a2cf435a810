import SequenceCRDT

/// Editing traces: what a text costs to type, to load and to hold.
enum TextSuite {
  private static let sequentialTraces = ["automerge-paper", "seph-blog1", "sveltecomponent"]

  static func measure(_ options: BenchOptions) throws -> [Result] {
    guard let folder = options.traces else { return [] }
    var results: [Result] = []
    for name in sequentialTraces {
      let trace = try TraceFile.sequential(name, in: folder)
      results += try sequential(trace, name: "text/\(name)", runs: options.runs)
    }
    let concurrent = try TraceFile.concurrent("friendsforever", in: folder)
    return results
      + (try merge(concurrent, name: "text/friendsforever/merge", runs: options.runs))
  }

  private static func sequential(
    _ trace: SequentialTrace, name: String, runs: Int
  ) throws -> [Result] {
    let replay = try Stopwatch.median("\(name)/local-replay", runs: runs) {
      try replica(of: trace)
    } check: { replica in
      try check(replica.content, against: trace.endContent, name)
    }
    return [replay]
      + (try TextSnapshots(trace, name: name).measure(runs: runs))
      + (try memory(of: trace, name: name))
  }

  /// Types the whole trace. Every edit is an operation of its own: it gets its ids, it is logged,
  /// and a peer could be sent it. A patch that deletes and inserts is two.
  static func replica(
    of trace: SequentialTrace, by author: ReplicaID = ReplicaID(rawValue: 7),
    firstSeq: UInt32 = 1
  ) throws -> TextReplica {
    var replica = TextReplica(replica: author, firstSeq: firstSeq)
    for patch in trace.patches {
      if patch.deleted > 0 {
        try replica.delete(patch.position..<patch.position + patch.deleted)
      }
      if !patch.inserted.isEmpty { try replica.insert(patch.inserted, at: patch.position) }
    }
    return replica
  }

  static func check(_ content: TextContent, against text: String, _ name: String) throws {
    try BenchFailure.require(content.text == text, "\(name): the text differs from the trace's")
  }

  /// Bytes held for each inserted scalar, text, order, ids and log together.
  private static func memory(of trace: SequentialTrace, name: String) throws -> [Result] {
    // Several copies, so that the granularity of pages and of the allocator's arenas is small.
    let copies = 16
    let bytes = try ResidentMemory.grown { try (0..<copies).map { _ in try replica(of: trace) } }
    return bytes.map { bytes in
      let each = bytes / Double(copies * trace.insertedCount)
      return [Result(name: "\(name)/memory", metric: "bytes", value: each)]
    } ?? []
  }

  /// Two authors' edits arrive one by one, in causal order, at a third replica.
  private static func merge(
    _ trace: ConcurrentTrace, name: String, runs: Int
  ) throws -> [Result] {
    let events = try ConcurrentAuthors.operations(of: trace)
    let total = try Stopwatch.median(name, runs: runs) {
      var reader = TextReplica(replica: ReplicaID(rawValue: 99))
      for event in events { try reader.merge(event) }
      return reader
    } check: { reader in
      try check(reader.content, against: trace.endContent, name)
    }
    let each = total.value / Double(events.count)
    return [total, Result(name: "\(name)/an-event", metric: "seconds", value: each)]
  }
}
