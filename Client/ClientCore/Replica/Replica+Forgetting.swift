package import QueueModel
import SequenceCRDT

/// Forgets messages that finished long ago; SPECIFICATION.md, section "Retention".
extension Replica {
  /// Shortens the log to the entries since a time, in milliseconds since 1970, and the undo history
  /// with it.
  ///
  /// - Returns: the messages that had finished by then and can be forgotten, with their contents.
  /// - Complexity: O(log before that time + messages).
  package mutating func shortenLog(
    to milliseconds: Int64, store: some ReplicaStore
  ) throws(Fault) -> [MessageID] {
    // Operations of the outbox must stay in the log.
    guard record.outbox.isEmpty else { return [] }
    guard let last = try lastEntry(before: milliseconds, store: store) else {
      return workspace.forgettable(asIn: try startingState(nil, store))
    }
    var base = try startingState(nil, store)
    try forEachPage(of: store) { page throws(Fault) in
      let old = page.filter { $0.id <= last }
      do throws(MergeError) {
        _ = try base.merge(old.flatMap(\.operations))
      } catch {
        throw .merge(error)
      }
      return old.count == page.count
    }
    var next = self
    var transaction = StoreTransaction(record: record)
    transaction.base = .install(base.image())
    transaction.prunedThrough = last
    transaction.journal.forgottenBefore = milliseconds
    transaction.undo = next.undo.forget(before: milliseconds)
    try commit(transaction, to: store)
    self = next
    return workspace.forgettable(asIn: base)
  }

  /// The last entry that is certainly from before a time: operations without a stamp are as old as
  /// the stamped one after them.
  private func lastEntry(
    before milliseconds: Int64, store: some ReplicaStore
  ) throws(Fault) -> Int64? {
    var last: Int64?
    try forEachPage(of: store) { page in
      for entry in page {
        let stamps = entry.operations.compactMap(\.stamp?.milliseconds)
        guard let latest = stamps.max() else { continue }
        guard latest < milliseconds else { return false }
        last = entry.id
      }
      return true
    }
    return last
  }

  /// Deletes texts and files of finished messages, by ordinary operations.
  package mutating func forget(
    _ ids: some Sequence<MessageID>, wall: Int64, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome {
    try author(wall: wall, at: event, store: store) { workspace, context throws(QueueError) in
      try workspace.forget(ids, in: context)
    }
  }
}
