package import SequenceCRDT

/// The positions of this device's operations in the server's log; bounded.
package struct BatchReceipts: Hashable, Sendable {
  /// The maximum number of receipts. An older operation is looked up in the oldest kept receipt
  /// after it, whose position is later: "seen by" then errs towards no.
  package static let receiptsMax = 512

  /// By position, in ascending order.
  package private(set) var all: [Receipt] = []

  package init(_ stored: [Receipt] = []) {
    for receipt in stored.sorted(by: {
      ($0.logPosition, $0.replica, $0.lastSeq) < ($1.logPosition, $1.replica, $1.lastSeq)
    }) { add(receipt) }
  }

  package mutating func add(_ receipt: Receipt) {
    all.append(receipt)
    if all.count > BatchReceipts.receiptsMax { all.removeFirst(all.count / 2) }
  }

  /// A log position at which operation `seq` is certainly contained, if there is one known.
  package func position(of replica: ReplicaID, seq: UInt32) -> UInt64? {
    all.first { $0.replica == replica && $0.lastSeq >= seq }?.logPosition
  }
}
