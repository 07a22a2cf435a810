package import QueueModel
package import SequenceCRDT

/// The messages made here that the server's log is not known to hold, with the operations that send
/// them. It is an index of the outbox, so that repeated requests read only new entries.
struct UnsentMessages: Sendable {
  typealias Entry = (message: MessageID, operation: OperationID)

  /// In the order they were made.
  var entries: [Entry] = []
  /// The log entry up to which the outbox was searched.
  var through: Int64 = 0
  /// The numbering of the log to which that entry belongs.
  var rebuilds: Int
}

extension Replica {
  /// Log entries that are read at a time.
  private static let unsentPageSize = 1_000

  /// The messages made here that the server's log is not known to hold, in the order they were
  /// made.
  ///
  /// - Complexity: O(what was made since the last request + unsent messages).
  package mutating func unsentMessages(
    store: some ReplicaStore
  ) throws(Fault) -> [(message: MessageID, operation: OperationID)] {
    let outbox = record.outbox
    var index = unsent ?? UnsentMessages(rebuilds: rebuilds)
    if index.rebuilds != rebuilds { index = UnsentMessages(rebuilds: rebuilds) }
    index.entries.removeAll { !outbox.contains($0.operation) }
    var hasMore = !outbox.isEmpty && index.through < lastEntry
    while hasMore {
      let page: [StoredOperations]
      do throws(StoreError) {
        page = try store.entries(
          in: outbox.ranges, after: index.through, countMax: Replica.unsentPageSize)
      } catch { throw .store(error) }
      for operation in page.lazy.flatMap(\.operations) where outbox.contains(operation.id) {
        guard case .addMessage(let added) = operation.body else { continue }
        index.entries.append((added.message, operation.id))
      }
      hasMore = page.count == Replica.unsentPageSize
      index.through = page.last?.id ?? index.through
    }
    index.through = lastEntry
    unsent = index
    return index.entries
  }
}
