import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// A device's store in memory, with the guarantees of SQLite in WAL mode. A commit stores
/// everything or nothing, and a failed one stores nothing. A commit that waits for the disk is
/// durable when it returns, with all commits before it.
final class DeviceStore: ReplicaStore {
  /// How the process will die in its next commit.
  enum Death {
    case beforeCommit
    case afterCommit
    /// With its machine, before the disk has an agent's intent or the commits that did not wait.
    case beforeSync
  }

  private(set) var files: DeviceFiles
  var condition = StoreCondition.working
  var death: Death?
  /// Whether the process died in a commit; nothing counts after that.
  private(set) var hasDied = false
  private(set) var commits = 0
  /// The database on the disk: without the commits after the last wait.
  private var synced: DeviceFiles.Database
  private var unsynced: [Write] = []
  private let planted: Set<PlantedBug>
  private var generator: SeededGenerator

  init(files: DeviceFiles, planted: Set<PlantedBug>, generator: SeededGenerator) {
    self.files = files
    self.planted = planted
    self.generator = generator
    synced = files.database
  }

  /// A transaction in its stored form.
  private struct Write {
    var transaction: StoreTransaction
    var entries: [DeviceFiles.Database.Entry]

    init(_ transaction: StoreTransaction) {
      entries = transaction.appended.map(DeviceStore.stored)
      self.transaction = transaction
    }
  }

  /// Whether a power failure would lose nothing.
  var isSynchronized: Bool { unsynced.isEmpty }

  func synchronize() throws(StoreError) {
    guard !isSynchronized else { return }
    try failIfDue()
    if death == .beforeSync { throw die() }
    if !planted.contains(.commitBeforeFsync) { reachDisk() }
  }

  private func reachDisk() {
    for write in unsynced { DeviceStore.apply(write, to: &synced) }
    unsynced = []
  }

  /// The files after the process, or the machine with it, has ended.
  func filesLeft(losingPower: Bool) -> DeviceFiles {
    guard losingPower else { return files }
    var left = files
    left.database = synced
    return left
  }

  /// Whether the intent would survive a power failure.
  func holdsDurably(_ intent: StartOrder) -> Bool { synced.intents[intent.message] == intent }

  /// Whether the operation would survive a power failure.
  func holdsDurably(_ id: OperationID) -> Bool {
    synced.entries.last { entry in
      entry.ranges.contains {
        $0.replica == id.replica && $0.first <= id.seq && id.seq <= $0.last
      }
    } != nil
  }

  func commit(_ transaction: StoreTransaction) throws(StoreError) {
    try failIfDue()
    if death == .beforeCommit { throw die() }
    var database = files.database
    // Moved, not copied: the next lines change it in place.
    files.database = DeviceFiles.Database()
    let write = Write(transaction)
    DeviceStore.apply(write, to: &database)
    files.database = database
    commits += 1
    unsynced.append(write)
    if death == .beforeSync, transaction.intents.begun != nil { throw die() }
    if reachesDisk(transaction) { reachDisk() }
    if death == .afterCommit { throw die() }
  }

  private func reachesDisk(_ transaction: StoreTransaction) -> Bool {
    if planted.contains(.commitBeforeFsync) { return generator.chance(20) }
    if planted.contains(.startBeforeFsync), transaction.intents.begun != nil { return false }
    return transaction.waitsForDisk
  }

  private func failIfDue() throws(StoreError) {
    if hasDied { throw StoreError(code: .failed, message: "the process is dead") }
    switch condition {
    case .working: break
    case .full: throw StoreError(code: .full, message: "the disk is full")
    case .failing: throw StoreError(code: .failed, message: "the disk does not write")
    }
  }

  private func die() -> StoreError {
    hasDied = true
    return StoreError(code: .failed, message: "the process died over its store")
  }

  private static func apply(_ write: Write, to database: inout DeviceFiles.Database) {
    let transaction = write.transaction
    if let pruned = transaction.prunedThrough {
      database.entries.removeAll { $0.id <= pruned }
      database.prunedThrough = pruned
    }
    for entry in write.entries {
      precondition(entry.id > database.entries.last?.id ?? 0, "entries rise")
      database.entries.append(entry)
    }
    switch transaction.base {
    case .none: break
    case .install(let image): database.base = PackedSnapshot.pack(image)
    case .clear: database.base = nil
    }
    if transaction.forgetsReceipts { database.receipts = [] }
    for receipt in transaction.receipts {
      database.receipts.removeAll {
        $0.replica == receipt.replica && $0.lastSeq == receipt.lastSeq
      }
      database.receipts.append(receipt)
    }
    if database.receipts.count > 2 * BatchReceipts.receiptsMax {
      database.receipts.removeFirst(database.receipts.count - BatchReceipts.receiptsMax)
    }
    for number in transaction.undo.removed { database.undo[number] = nil }
    for entry in transaction.undo.written { database.undo[entry.number] = entry }
    if let begun = transaction.intents.begun { database.intents[begun.message] = begun }
    if let ended = transaction.intents.ended,
      database.intents[ended.message]?.isSameAttempt(as: ended) == true
    {
      database.intents[ended.message] = nil
    }
    database.grant(transaction.authority)
    if let choice = transaction.choice { database.choices.apply(choice) }
    if let kept = transaction.answers.kept { database.answers[kept.answer.request] = kept }
    if let ended = transaction.answers.ended { database.answers[ended] = nil }
    if !transaction.notifications.isEmpty {
      database.notifications.apply(transaction.notifications)
    }
    database.record = transaction.record
  }

  private static func stored(_ entry: StoredOperations) -> DeviceFiles.Database.Entry {
    DeviceFiles.Database.Entry(
      id: entry.id, isLocal: entry.isLocal,
      delta: entry.packed ?? PackedDelta.pack(entry.operations), ranges: entry.operations.ranges)
  }

  func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations] {
    let start = firstIndex(after: after)
    var found: [StoredOperations] = []
    for entry in files.database.entries[start...] where found.count < countMax {
      let isWanted = entry.ranges.contains { held in
        ranges.contains {
          $0.replica == held.replica && $0.first <= held.last && held.first <= $0.last
        }
      }
      if isWanted { found.append(try DeviceFiles.decode(entry)) }
    }
    return found
  }

  func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    let start = firstIndex(after: after)
    var found: [StoredOperations] = []
    for entry in files.database.entries[start...].prefix(countMax) {
      found.append(try DeviceFiles.decode(entry))
    }
    return found
  }

  func base() throws(StoreError) -> WorkspaceImage? { try files.image() }

  func baseState() throws(StoreError) -> Workspace? { try files.stored() }

  private func firstIndex(after id: Int64) -> Int {
    files.database.entries.indices.partitioningIndex { files.database.entries[$0].id > id }
  }
}
