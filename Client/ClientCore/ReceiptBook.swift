package import SequenceCRDT

/// Where the server's log holds the operations of this device; bounded.
package struct ReceiptBook: Hashable, Sendable {
  /// How many receipts of one replica are kept. An older operation is looked up in the oldest kept
  /// receipt behind it, whose position is later: "seen by" then errs towards no.
  package static let receiptsMax = 512

  private var receipts: [ReplicaID: [Receipt]] = [:]

  package init(_ stored: [Receipt] = []) {
    for receipt in stored.sorted(by: { ($0.lastSeq, $0.logPosition) < ($1.lastSeq, $1.logPosition) }
    ) { add(receipt) }
  }

  /// All of them, in a fixed order.
  package var all: [Receipt] {
    receipts.sorted { $0.key < $1.key }.flatMap(\.value)
  }

  package mutating func add(_ receipt: Receipt) {
    var list = receipts[receipt.replica] ?? []
    // A repeated acknowledgement says nothing new.
    if let last = list.last, last.lastSeq >= receipt.lastSeq { return }
    list.append(receipt)
    if list.count > ReceiptBook.receiptsMax { list.removeFirst(list.count / 2) }
    receipts[receipt.replica] = list
  }

  /// The log position at which operation `seq` is certainly contained, where one is known.
  package func position(of replica: ReplicaID, seq: UInt32) -> UInt64? {
    receipts[replica]?.first { $0.lastSeq >= seq }?.logPosition
  }
}
