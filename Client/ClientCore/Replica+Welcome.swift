package import QueueModel
package import SequenceCRDT
package import WireProtocol

extension Replica {
  /// What the server's vector says about this copy.
  package struct Assessment: Hashable, Sendable {
    /// Own replicas whose operations differ from the server's at the same count.
    package var forked: Set<ReplicaID> = []
    /// Other replicas whose operations differ; a snapshot will repair them.
    package var mismatched: Set<ReplicaID> = []
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
      } else if entry.seq == seq, seq > 0, entry.digest != workspace.digest(of: entry.replica) {
        if record.ownReplicas.contains(entry.replica) {
          // In another epoch that is found out when its base is taken over.
          guard welcome.epoch == record.epoch else { continue }
          assessment.forked.insert(entry.replica)
        } else {
          assessment.mismatched.insert(entry.replica)
        }
      }
    }
    return assessment
  }

  /// Takes over what the server says it has, and where its log stands.
  package mutating func accept(
    _ welcome: Welcome, assessment: Assessment, workspace id: WorkspaceID,
    store: some ReplicaStore
  ) throws(Fault) {
    var next = self
    var server = VersionVector()
    for entry in welcome.known { server[entry.replica] = entry.seq }
    for (replica, _) in workspace.vector.sorted {
      next.record.acknowledged[replica] = acknowledged(replica, welcome: welcome, server: server)
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

  private func acknowledged(
    _ replica: ReplicaID, welcome: Welcome, server: VersionVector
  ) -> UInt32 {
    let seq = server[replica]
    guard record.ownReplicas.contains(replica) else { return seq }
    let mine = workspace.vector[replica]
    if seq == mine,
      welcome.known.contains(where: {
        $0.replica == replica && $0.digest == workspace.digest(of: replica)
      })
    {
      return seq
    }
    // Resending what is not certainly acknowledged lets the server compare it; equal operations
    // are acknowledged again.
    return min(record.acknowledged[replica], seq)
  }
}
