import ClientCore
import QueueModel
import SequenceCRDT

/// The part of a device's store for notifications, in memory: a commit is all or nothing.
final class NotificationStore: ReplicaStore {
  private(set) var loaded = LoadedReplica()
  private var entries: [StoredOperations] = []
  /// Thrown by the next commits.
  var fault: StoreError?

  func commit(_ transaction: StoreTransaction) throws(StoreError) {
    if let fault { throw fault }
    entries += transaction.appended
    guard case .none = transaction.base else {
      preconditionFailure("no device gets a snapshot in this world")
    }
    loaded.notifications.apply(transaction.notifications)
    loaded.record = transaction.record
    loaded.tail = entries
    loaded.lastEntry = entries.last?.id ?? 0
  }

  func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations] {
    Array(
      entries.filter { entry in
        entry.id > after
          && entry.operations.ranges.contains { held in
            ranges.contains {
              $0.replica == held.replica && $0.first <= held.last && held.first <= $0.last
            }
          }
      }.prefix(countMax))
  }

  func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    Array(entries.filter { $0.id > after }.prefix(countMax))
  }

  func entries(before: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    Array(entries.filter { $0.id < before }.suffix(countMax).reversed())
  }

  func base() throws(StoreError) -> WorkspaceImage? { nil }

  func baseState() throws(StoreError) -> Workspace? { nil }
}
