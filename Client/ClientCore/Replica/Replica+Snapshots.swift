import DeltaCodec
package import QueueModel
import SequenceCRDT
package import WireProtocol

/// Whole states from the server and for it; SPECIFICATION.md, section "Join".
extension Replica {
  /// A state of the server, and the prefix of its log that the state includes.
  package struct Base: Sendable {
    package var image: WorkspaceImage
    package var prefix: LogPrefix

    package init(image: WorkspaceImage, prefix: LogPrefix) {
      self.image = image
      self.prefix = prefix
    }
  }

  /// The known operations of each replica without the outbox: some server's log held all of them.
  var logged: VersionVector {
    var logged = workspace.vector
    for range in record.outbox.ranges { logged[range.replica] = range.first - 1 }
    return logged
  }

  /// Takes over the server's whole state and applies the outbox again. One transaction.
  ///
  /// - Returns: the changes to the queues; nil if the state lacks logged operations, so that the
  ///   server has to join this device's state first. Nothing changed then.
  /// - Throws: `Fault.merge` if the state contradicts itself, `.store`.
  package mutating func install(
    _ base: Base, at context: EventContext, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues? {
    let state = try startingState(base, store)
    if try isContradicted(by: base, store: store) {
      return try beginAnew(on: base, state, at: context, store: store)
    }
    let known = base.image.vector
    guard known.includes(logged) else { return nil }
    // Usually its acknowledgement was lost; or a copy of this program's memory was first.
    let shared = record.outbox.ranges.filter { $0.first <= known[$0.replica] }
    var attempts: [[OperationID]] = [[]]
    if !shared.isEmpty {
      let waiting = try outgoingEntries(store: store).flatMap(\.operations)
      var seen: Set<ReplicaID> = []
      let cuts = waiting.compactMap(state.firstUnlike).filter { seen.insert($0.replica).inserted }
      // Earlier operations may differ, too, which the state does not show. So everything that may
      // differ is redone.
      attempts = [cuts, shared.map { OperationID(replica: $0.replica, seq: $0.first) }]
    }
    for cuts in attempts {
      do {
        return try rebuild(OutboxChange(cuts: cuts), on: base, at: context, store: store)
      } catch {
        guard error.isMisfit else { throw error }
      }
    }
    return try beginAnew(on: base, state, at: context, store: store)
  }

  /// The state without the outbox, for the server to join. Operations in the outbox are sent as
  /// usual afterwards, through all checks.
  ///
  /// - Complexity: O(1) if the outbox is empty, else O(the log).
  package func loggedState(store: some ReplicaStore) throws(Fault) -> Workspace {
    guard !record.outbox.isEmpty else { return workspace }
    var log = RebuiltLog(try startingState(nil, store))
    let operations = try allEntries(of: store).flatMap(\.operations)
    try log.append(operations.compactMap { record.outbox.parts(of: $0).logged }, isLocal: false)
    return log.state
  }

  /// Packs the sessions that were used, as if the workspace were stored and opened again.
  package mutating func pack() {
    SnapshotCodec.pack(&workspace)
  }

  /// The entries of the log with operations of the outbox, reduced to these operations.
  func outgoingEntries(store: some ReplicaStore) throws(Fault) -> [StoredOperations] {
    try entries(of: store, in: record.outbox.ranges).map { entry in
      StoredOperations(
        id: entry.id, isLocal: true,
        operations: entry.operations.compactMap { record.outbox.parts(of: $0).waiting })
    }
  }

  /// All entries with operations of the ranges.
  func entries(
    of store: some ReplicaStore, in ranges: [OperationRange]
  ) throws(Fault) -> [StoredOperations] {
    guard !ranges.isEmpty else { return [] }
    var all: [StoredOperations] = []
    try pages { last throws(StoreError) in
      try store.entries(in: ranges, after: last, countMax: Replica.pageEntries)
    } each: {
      all += $0
      return true
    }
    return all
  }

  func allEntries(of store: some ReplicaStore) throws(Fault) -> [StoredOperations] {
    var all: [StoredOperations] = []
    try forEachPage(of: store) {
      all += $0
      return true
    }
    return all
  }

  /// Reads the log a page at a time, until `body` returns false.
  func forEachPage(
    of store: some ReplicaStore, _ body: ([StoredOperations]) throws(Fault) -> Bool
  ) throws(Fault) {
    try pages { last throws(StoreError) in
      try store.entries(after: last, countMax: Replica.pageEntries)
    } each: { page throws(Fault) in
      try body(page)
    }
  }

  private func pages(
    _ page: (Int64) throws(StoreError) -> [StoredOperations],
    each body: ([StoredOperations]) throws(Fault) -> Bool
  ) throws(Fault) {
    var last: Int64 = 0
    while true {
      let entries: [StoredOperations]
      do {
        entries = try page(last)
      } catch {
        throw .store(error)
      }
      guard let end = entries.last, try body(entries) else { return }
      last = end.id
    }
  }
}

extension Workspace {
  /// The first id of an operation under which the state has something else; nil if the ids that it
  /// knows match.
  fileprivate func firstUnlike(_ operation: Operation) -> OperationID? {
    let count = operation.id.count(through: vector[operation.id.replica])
    guard let known = operation.keepingFirst(count), known.isContradicted(by: self) else {
      return nil
    }
    let units = (0..<known.length).lazy.compactMap { known.droppingFirst($0)?.keepingFirst(1) }
    return units.first(where: { $0.isContradicted(by: self) })?.id ?? known.id
  }
}
