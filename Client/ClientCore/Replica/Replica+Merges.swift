import QueueModel
import SequenceCRDT

/// Finds the changes to texts in the log that were merged with independently saved texts.
extension Replica {
  /// The maximum number of generations of editions that are read, back from the live ones.
  private static let editionGenerationsMax = 64

  /// A save, as it is in the log.
  private struct Save {
    var id: OperationID
    var clears: [OperationID]
    /// nil if the text is not kept whole.
    var text: String?
    /// Its place in the log.
    var entry: Int64
    var index: Int
  }

  /// Marks changes to texts that were merged: another text of the message was live when they
  /// arrived, and their author had not seen it. Entries that the log no longer holds are ignored.
  ///
  /// - Complexity: O(changes to texts + saves of their messages).
  func addMerges(in events: inout [HistoryEntry], store: some ReplicaStore) throws(Fault) {
    let edits = events.indices.filter { events[$0].action.isEdit }
    var saves: [OperationID: (message: MessageID, save: Save)] = [:]
    try read(edits.map { events[$0].operations }, into: &saves, store: store)
    let found = Set(saves.keys)
    let live = Set(saves.values.map(\.message))
      .flatMap { Edition.live(of: $0, in: workspace)?.editions ?? [] }
    var wanted = Set(live).union(saves.values.flatMap(\.save.clears)).subtracting(found)
    var asked = wanted
    for _ in 0..<Replica.editionGenerationsMax where !wanted.isEmpty {
      let known = Set(saves.keys)
      try read(wanted.map { OperationRange($0) }, into: &saves, store: store)
      let fresh = saves.filter { !known.contains($0.key) }
      wanted = Set(fresh.values.flatMap(\.save.clears)).subtracting(saves.keys).subtracting(asked)
      asked.formUnion(wanted)
    }
    let merges = found.intersection(Replica.merges(among: saves.values))
    guard !merges.isEmpty else { return }
    for index in edits where merges.contains(where: events[index].operations.contains) {
      guard case .edited(let inserted, let deleted) = events[index].action else { continue }
      events[index].action = .merged(inserted: inserted, deleted: deleted)
    }
  }

  /// Reads the saves in ranges of operations.
  private func read(
    _ ranges: [OperationRange], into saves: inout [OperationID: (message: MessageID, save: Save)],
    store: some ReplicaStore
  ) throws(Fault) {
    for entry in try entries(of: store, in: ranges) {
      for (index, operation) in entry.operations.enumerated() {
        guard case .addTag(_, .edition, let clears, let note) = operation.body,
          ranges.contains(where: { $0.contains(operation.id) }),
          let message = operation.message(in: workspace)
        else { continue }
        saves[operation.id] = (
          message,
          Save(
            id: operation.id, clears: clears, text: Edition(note: note).wholeText, entry: entry.id,
            index: index)
        )
      }
    }
  }

  /// The saves that arrived while another text was live.
  private static func merges(
    among saves: some Collection<(message: MessageID, save: Save)>
  ) -> Set<OperationID> {
    var merges: Set<OperationID> = []
    for ofMessage in Dictionary(grouping: saves, by: \.message).values {
      var live: [OperationID: String?] = [:]
      for (_, save) in ofMessage.sorted(by: {
        ($0.save.entry, $0.save.index) < ($1.save.entry, $1.save.index)
      }) {
        for id in save.clears { live[id] = nil }
        let isAlone = save.text != nil && live.values.allSatisfy { $0 == save.text }
        if !live.isEmpty, !isAlone { merges.insert(save.id) }
        live[save.id] = .some(save.text)
      }
    }
    return merges
  }
}

extension OperationRange {
  fileprivate init(_ id: OperationID) {
    self.init(replica: id.replica, first: id.seq, last: id.seq)
  }
}

extension HistoryAction {
  fileprivate var isEdit: Bool { if case .edited = self { true } else { false } }
}
