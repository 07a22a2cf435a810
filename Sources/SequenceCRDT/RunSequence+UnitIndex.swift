extension RunSequence {
  /// Finds units by id in O(log runs); made for one state of a sequence.
  package struct UnitIndex {
    private var spans: [ReplicaID: [(first: UInt32, run: Int)]] = [:]
    private let runs: [Run]

    /// - Throws: `SequenceFault.invalidRun` where two runs hold the same id.
    /// - Complexity: O(runs · log runs).
    package init(_ sequence: RunSequence) throws(SequenceFault) {
      runs = sequence.runs
      for (number, run) in runs.enumerated() {
        spans[run.id.replica, default: []].append((first: run.id.seq, run: number))
      }
      for replica in spans.keys {
        spans[replica]?.sort { $0.first < $1.first }
        let sorted = spans[replica] ?? []
        for (before, after) in zip(sorted, sorted.dropFirst())
        where Int(before.first) + runs[before.run].length > Int(after.first) {
          throw .invalidRun(OperationID(replica: replica, seq: after.first))
        }
      }
    }

    /// The index of the unit's content, or nil.
    package func contentIndex(of id: OperationID) -> Int? {
      place(of: id).map { runs[$0.run].contentStart + $0.offset }
    }

    func place(of id: OperationID) -> Place? {
      guard let list = spans[id.replica] else { return nil }
      var low = 0
      var high = list.count
      while low < high {
        let middle = (low + high) / 2
        if list[middle].first <= id.seq { low = middle + 1 } else { high = middle }
      }
      guard low > 0 else { return nil }
      let run = list[low - 1].run
      return runs[run].offset(of: id).map { Place(run: run, offset: $0) }
    }
  }
}
