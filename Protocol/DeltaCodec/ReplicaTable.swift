import QueueModel
import SequenceCRDT

/// The replicas of a delta's rows, in the order of their first occurrence in the rows, each with
/// the sequence number from which its references are counted.
struct ReplicaTable {
  private(set) var replicas: [ReplicaID] = []
  /// The first authored sequence number, or, for replicas without rows, the first named one.
  private(set) var bases: [Int64] = []
  private var isAuthor: [Bool] = []
  private var indexes: [ReplicaID: Int] = [:]

  init(of rows: [DeltaRow]) {
    for row in rows {
      note(row.id, isAuthor: true)
      for target in row.furtherTargets { note(target) }
      noteReferences(of: row.body)
    }
  }

  /// - Precondition: the id's replica is in the table.
  func local(_ id: OperationID) -> DeltaFormat.LocalID {
    if id.replica == replicas.first { return DeltaFormat.LocalID(replica: 0, seq: Int64(id.seq)) }
    guard let index = indexes[id.replica] else {
      preconditionFailure("every replica was noted before")
    }
    return DeltaFormat.LocalID(replica: index, seq: Int64(id.seq))
  }

  /// The start of a delta. For a single replica, as in nearly every delta of one keystroke, no
  /// count is written.
  func write(to writer: inout ByteWriter, usesColumns: Bool) {
    let form: UInt64 = usesColumns ? 1 : 0
    if replicas.count == 1 {
      writer.number(UInt64(bases[0] - 1) << 2 | 2 | form)
      writer.fixed(replicas[0].rawValue)
      return
    }
    writer.number(UInt64(replicas.count) << 2 | form)
    for (replica, base) in zip(replicas, bases) {
      writer.fixed(replica.rawValue)
      writer.number(UInt64(base - 1))
    }
  }

  private mutating func note(_ id: OperationID?, isAuthor authored: Bool = false) {
    guard let id else { return }
    if id.replica == replicas.first, isAuthor[0] { return }
    guard let index = indexes[id.replica] else {
      precondition(id.replica.rawValue != 0 && id.seq >= 1, "0 names no replica and no operation")
      indexes[id.replica] = replicas.count
      replicas.append(id.replica)
      bases.append(Int64(id.seq))
      isAuthor.append(authored)
      return
    }
    guard authored, !isAuthor[index] else { return }
    isAuthor[index] = true
    bases[index] = Int64(id.seq)
  }

  private mutating func note(_ origins: Operation.Origins) {
    note(origins.left)
    note(origins.right)
  }

  private mutating func noteReferences(of body: Operation.Body) {
    switch body {
    case .announceDevice:
      break
    case .openSession(_, let clears):
      for id in clears { note(id) }
    case .addMessage(let addition):
      note(addition.session)
      note(addition.origins)
      for id in addition.clears { note(id) }
    case .insertText(let insertion):
      note(insertion.message)
      note(insertion.origins)
    case .deleteText(let deletion):
      note(deletion.message)
      note(deletion.first)
    case .placeMessage(let message, let session, let origins, _):
      note(message)
      note(session)
      note(origins)
    case .placeThread(let session, let origins, _):
      note(session)
      note(origins)
    case .enqueueThread(let enqueue):
      note(enqueue.session)
      note(enqueue.origins)
      for id in enqueue.clearsQueued + enqueue.clearsLocked { note(id) }
    case .addTag(let element, _, let clears, _), .clearTags(let element, _, let clears):
      note(element)
      for id in clears { note(id) }
    case .setRegister(let element, _, _, _):
      note(element)
    }
  }
}
