import ClientCore
import GRDB
import QueueModel
import SequenceCRDT
import Testing

@testable import ClientStore

/// The stored acknowledgements of the server: as many as `BatchReceipts` keeps, instead of all that
/// ever arrived.
@Suite struct ReceiptStoreTests {
  @Test func receiptsDoNotGrowForEver() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let sent = try directory.send(1, &open)
    let replica = try #require(sent.operations.first).id.replica
    let last: UInt32 = 2_000
    for seq in 1...last {
      var transaction = StoreTransaction(record: open.replica.record)
      transaction.receipts = [
        Receipt(replica: replica, lastSeq: seq, logPosition: UInt64(seq) * 3)
      ]
      transaction.waitsForDisk = false
      try open.store.commit(transaction)
    }
    try open.store.close()
    let opened = try ClientStore.open(directory: directory.path)
    #expect(opened.loaded.receipts.count >= BatchReceipts.receiptsMax)
    #expect(opened.loaded.receipts.count <= 2 * BatchReceipts.receiptsMax)
    let receipts = BatchReceipts(opened.loaded.receipts)
    for seq in (last - 255)...last {
      #expect(receipts.position(of: replica, seq: seq) == UInt64(seq) * 3)
    }
    try opened.store.close()
  }

  /// Each run writes under another replica id.
  @Test func receiptsOfManyReplicasAreOneList() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    try open.store.database.write { database in
      for position in 1...3_000 {
        try database.execute(
          sql: "INSERT INTO receipts VALUES (?, ?, ?)",
          arguments: [position, position % 700, position])
      }
    }
    let replica = ReplicaID(rawValue: 5)
    var transaction = StoreTransaction(record: open.replica.record)
    transaction.receipts = [Receipt(replica: replica, lastSeq: 3_001, logPosition: 3_001)]
    try open.store.commit(transaction)
    let count = try open.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM receipts") }
    #expect(count == BatchReceipts.receiptsMax)
    let oldest = try open.store.read {
      try Int.fetchOne($0, sql: "SELECT min(log_position) FROM receipts")
    }
    #expect(oldest == 3_001 - BatchReceipts.receiptsMax + 1)
    try open.store.close()
  }
}
