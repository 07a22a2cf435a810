package import QueueModel
package import SequenceCRDT

/// The log's history; it holds every operation after the store's base.
extension Replica {
  /// The number of log entries that one call examines.
  package static let historyEntriesMax = 2_000
  /// Log entries read at a time.
  static let pageEntries = 128
  /// How far from an operation without a stamp one is searched for, in sequence numbers.
  static let stampDistanceMax: UInt32 = 512

  /// The history of a subject, the newest first.
  ///
  /// - Parameters:
  ///   - before: returns older entries; nil begins at the newest.
  ///   - limit: the maximum number of entries. There may be fewer and still a `next`, since one
  ///     call examines a limited number of log entries.
  /// - Complexity: O(log entries examined).
  package func history(
    of subject: HistorySubject, before: HistoryPosition?, limit: Int, store: some ReplicaStore
  ) throws(Fault) -> HistoryPage {
    var page = HistoryPage()
    var cursor = before ?? HistoryPosition(entry: lastEntry + 1, index: 0)
    var looked = 0
    while looked < Replica.historyEntriesMax {
      // The entry of the cursor itself may still hold something older than it.
      let bound = cursor.index > 0 ? cursor.entry + 1 : cursor.entry
      let entries = try stored { () throws(StoreError) in
        try store.entries(before: bound, countMax: Replica.pageEntries)
      }
      guard !entries.isEmpty else {
        try complete(in: &page.entries, store: store)
        try goOn(page: &page, of: subject, before: cursor, limit: max(1, limit), store: store)
        return page
      }
      for entry in entries {
        looked += 1
        for (index, event) in workspace.history(of: entry.operations).enumerated().reversed() {
          let position = HistoryPosition(entry: entry.id, index: index)
          guard position < cursor, subject.includes(event) else { continue }
          page.entries.append(event)
          if page.entries.count == max(1, limit) {
            page.next = position
            try complete(in: &page.entries, store: store)
            return page
          }
        }
        cursor = HistoryPosition(entry: entry.id, index: 0)
      }
    }
    page.next = cursor
    try complete(in: &page.entries, store: store)
    return page
  }

  /// Continues with the history from before a snapshot replaced the beginning of the log.
  private func goOn(
    page: inout HistoryPage, of subject: HistorySubject, before: HistoryPosition, limit: Int,
    store: some ReplicaStore
  ) throws(Fault) {
    var cursor = before
    while true {
      let journal = try stored { () throws(StoreError) in
        try store.journal(before: cursor, countMax: Replica.historyEntriesMax)
      }
      guard let oldest = journal.last else { return }
      for entry in journal where subject.includes(entry.event) {
        page.entries.append(entry.event)
        if page.entries.count == limit {
          page.next = entry.position
          return
        }
      }
      cursor = oldest.position
    }
  }

  /// The log's history of operations outside the outbox, the latest first; for the journal, before
  /// a snapshot replaces the log.
  ///
  /// - Complexity: O(log), of `JournalChanges.entriesMax` entries at most.
  func history(
    by store: some ReplicaStore, without outbox: Outbox
  ) throws(Fault) -> [JournalEntry] {
    var places: [HistoryPosition] = []
    var events: [HistoryEntry] = []
    var bound = lastEntry + 1
    while events.count < JournalChanges.entriesMax {
      let entries = try stored { () throws(StoreError) in
        try store.entries(before: bound, countMax: Replica.pageEntries)
      }
      guard let oldest = entries.last else { break }
      bound = oldest.id
      for entry in entries {
        let logged = entry.operations.compactMap { outbox.parts(of: $0).logged }
        for (index, event) in workspace.history(of: logged).enumerated().reversed() {
          places.append(HistoryPosition(entry: entry.id, index: index))
          events.append(event)
        }
      }
    }
    try complete(in: &events, store: store)
    return zip(places, events).map { JournalEntry(position: $0, event: $1) }
  }

  /// Adds the data that single operations lack.
  private func complete(in events: inout [HistoryEntry], store: some ReplicaStore) throws(Fault) {
    try addTimes(in: &events, store: store)
    try addMerges(in: &events, store: store)
  }

  /// Adds the times. Typing, cancelling and pausing have no time; they are at most a second younger
  /// than their replica's stamp before them, or they have a note. An announcement has the time of
  /// what follows.
  private func addTimes(
    in events: inout [HistoryEntry], store: some ReplicaStore
  ) throws(Fault) {
    var wanted: [ReplicaID: (first: UInt32, last: UInt32)] = [:]
    for event in events where event.milliseconds == nil {
      let range = event.operations
      let known = wanted[range.replica] ?? (range.first, range.last)
      wanted[range.replica] = (min(known.first, range.first), max(known.last, range.last))
    }
    guard !wanted.isEmpty else { return }
    let around = wanted.map { replica, known in
      OperationRange(
        replica: replica, first: max(1, known.first - min(known.first, Replica.stampDistanceMax)),
        last: known.last &+ Replica.stampDistanceMax)
    }
    var stamps: [ReplicaID: [Stamped]] = [:]
    var last: Int64 = 0
    while true {
      let page = try stored { () throws(StoreError) in
        try store.entries(in: around, after: last, countMax: Replica.historyEntriesMax)
      }
      guard let end = page.last else { break }
      last = end.id
      for operation in page.flatMap(\.operations) {
        guard let stamp = operation.stamp else { continue }
        stamps[operation.id.replica, default: []].append(
          Stamped(seq: operation.id.seq, milliseconds: stamp.milliseconds))
      }
    }
    for replica in stamps.keys { stamps[replica]?.sort { $0.seq < $1.seq } }
    for index in events.indices where events[index].milliseconds == nil {
      let range = events[index].operations
      events[index].milliseconds =
        stamps[range.replica].flatMap { Stamped.next(to: range, in: $0) }?.milliseconds
    }
  }

  /// An operation with a time.
  private struct Stamped {
    var seq: UInt32
    var milliseconds: Int64

    /// The one before a range; if there is none, the one after it.
    ///
    /// - Complexity: O(log stamps), so that a page of a thousand changes without a time does not
    ///   need a thousand searches of the log.
    static func next(to range: OperationRange, in stamps: [Stamped]) -> Stamped? {
      let index = stamps.indices.partitioningIndex { stamps[$0].seq >= range.first }
      return index > 0 ? stamps[index - 1] : stamps.first
    }
  }

  /// The state at a version, by replaying the log on its base.
  ///
  /// - Throws: `Fault.history` if the log does not reach it, `.store`, `.merge`.
  /// - Complexity: O(state of the base + operations since).
  package func workspace(
    at version: VersionVector, store: some ReplicaStore
  ) throws(Fault) -> Workspace {
    guard workspace.vector.includes(version) else { throw .history(.unknownVersion) }
    let image = try stored { () throws(StoreError) in try store.base() }
    var state = try merged { () throws(MergeError) in
      try image.map(Workspace.init(image:)) ?? Workspace()
    }
    guard version.includes(state.vector) else {
      throw .history(.forgotten(earliest: state.vector))
    }
    var last: Int64 = 0
    while state.vector != version {
      let page = try stored { () throws(StoreError) in
        try store.entries(after: last, countMax: Replica.pageEntries)
      }
      guard let end = page.last else { throw .history(.incompleteVersion) }
      last = end.id
      let parts = page.flatMap(\.operations).compactMap { operation in
        operation.keepingFirst(operation.id.count(through: version[operation.id.replica]))
      }
      let outcome = try merged { () throws(MergeError) in try state.merge(parts) }
      guard outcome.waiting == 0 else { throw .history(.incompleteVersion) }
    }
    return state
  }

  /// The fewest steps from one version to another, whichever is older.
  ///
  /// - Throws: as `workspace(at:store:)`.
  package func changes(
    from old: VersionVector, to new: VersionVector, store: some ReplicaStore
  ) throws(Fault) -> [WorkspaceChange] {
    let before = try workspace(at: old, store: store)
    let after = try workspace(at: new, store: store)
    var tracker = ChangeTracker(workspace: before)
    return tracker.changes(in: after, touched: TouchedQueues.all(of: before, after))
  }

  private func stored<Value>(
    _ body: () throws(StoreError) -> Value
  ) throws(Fault) -> Value {
    do {
      return try body()
    } catch {
      throw .store(error)
    }
  }

  private func merged<Value>(
    _ body: () throws(MergeError) -> Value
  ) throws(Fault) -> Value {
    do {
      return try body()
    } catch {
      throw .merge(error)
    }
  }
}
