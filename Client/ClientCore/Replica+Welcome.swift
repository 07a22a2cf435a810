package import QueueModel
package import SequenceCRDT
package import WireProtocol

extension Replica {
  /// What the server's vector says about this copy.
  package struct Assessment: Hashable, Sendable {
    /// The server knows the present replica further than this copy, which is an old one restored.
    package var isRestoredCopy = false
    /// Nothing that the server has is missing here.
    package var hasEverything = false
  }

  /// What goes into `hello`.
  package var known: [KnownReplica] {
    workspace.vector.sorted.map { entry in
      KnownReplica(
        replica: entry.replica, seq: entry.seq, digest: workspace.digest(of: entry.replica))
    }
  }

  package func assess(_ welcome: Welcome) -> Assessment {
    var assessment = Assessment()
    assessment.hasEverything = true
    for entry in welcome.known {
      let seq = workspace.vector[entry.replica]
      if entry.seq > seq {
        assessment.hasEverything = false
        if entry.replica == record.replica { assessment.isRestoredCopy = true }
      }
    }
    return assessment
  }

  /// Whether the server lost what it had, and this device has something for it.
  ///
  /// What is sent then may name operations that another store's have taken the place of since.
  func hasToBeGivenBack(to welcome: Welcome) -> Bool {
    var server = VersionVector()
    for entry in welcome.known { server[entry.replica] = entry.seq }
    guard !server.includes(workspace.vector) else { return false }
    return record.logIdentity != 0 && record.logIdentity != welcome.logIdentity
      || record.logPosition > welcome.logPosition || !server.includes(record.acknowledged)
  }

  /// The replicas of which the server has more than is here, so that nobody could compare digests.
  func uncompared(by welcome: Welcome) -> Set<ReplicaID> {
    comparable(welcome.known.filter { $0.seq > workspace.vector[$0.replica] })
  }

  /// Takes over what the server says it has, and where its log stands.
  ///
  /// - Parameter disputed: replicas whose operations are to be compared with the server's first; nil
  ///   where a base comes to be compared with.
  package mutating func accept(
    _ welcome: Welcome, assessment: Assessment, disputed: Set<ReplicaID>?,
    workspace id: WorkspaceID, store: some ReplicaStore
  ) throws(Fault) {
    var next = self
    var server = VersionVector()
    for entry in welcome.known { server[entry.replica] = entry.seq }
    let isSame = Set(
      welcome.known.filter { workspace.digest(of: $0.replica) == $0.digest }.map(\.replica))
    for (replica, seq) in workspace.vector.sorted {
      let known = server[replica]
      if disputed?.contains(replica) == true {
        next.record.acknowledged[replica] = min(record.floor[replica], known)
      } else if record.ownReplicas.contains(replica),
        known > seq || disputed == nil && !isSame.contains(replica)
      {
        // What is not certainly there is compared with the base, or sent for the server to do it.
        next.record.acknowledged[replica] = min(record.acknowledged[replica], known)
      } else {
        // The digests are equal up to there.
        next.record.acknowledged[replica] = known
      }
    }
    for (replica, seq) in server.sorted where workspace.vector[replica] == 0 {
      // Known for later: what comes of it from the server need not be sent back.
      next.record.acknowledged[replica] = seq
    }
    next.record.workspace = id
    let isOtherLog = record.logIdentity != welcome.logIdentity
    if isOtherLog {
      next.record.logIdentity = welcome.logIdentity
      next.record.logPosition = 0
      next.receipts = ReceiptBook()
    }
    if assessment.hasEverything {
      next.record.logPosition = max(next.record.logPosition, welcome.logPosition)
    }
    var transaction = StoreTransaction(record: next.record)
    transaction.forgetsReceipts = isOtherLog
    // Where acknowledgements were lost, the head is behind everything the server has of ours.
    for replica in record.ownReplicas.sorted() where next.record.acknowledged[replica] > 0 {
      let seq = next.record.acknowledged[replica]
      guard next.receipts.position(of: replica, seq: seq) == nil else { continue }
      let receipt = Receipt(replica: replica, lastSeq: seq, logPosition: welcome.logPosition)
      transaction.receipts.append(receipt)
      next.receipts.add(receipt)
    }
    try commit(transaction, to: store)
    self = next
  }
}
