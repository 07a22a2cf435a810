import QueueModel
import SequenceCRDT

/// One row of a delta: an operation, or a run of operations that continue each other.
struct DeltaRow {
  private(set) var id: OperationID
  private(set) var body: Operation.Body
  /// The number of ids that the row takes.
  private(set) var length: Int
  /// The text of an insertion, kept outside `body` so that it grows in place.
  private(set) var text = ""
  /// The later items of a run of placements.
  private(set) var furtherTargets: [OperationID] = []

  /// - Precondition: the operation is not empty and its ids exist.
  init(_ operation: Operation) {
    precondition(operation.id.replica.rawValue != 0 && operation.id.seq >= 1)
    id = operation.id
    length = operation.length
    precondition(length >= 1, "an operation has at least one unit")
    body = operation.body
    switch operation.body {
    case .insertText(let insertion):
      text = insertion.text
    case .deleteText(var deletion) where deletion.count == 1:
      deletion.backwards = false
      body = .deleteText(deletion)
    default:
      break
    }
  }

  /// The rows of operations in their order.
  static func rows(of operations: [Operation]) -> [DeltaRow] {
    var rows: [DeltaRow] = []
    guard let first = operations.first else { return rows }
    var open = DeltaRow(first)
    for operation in operations.dropFirst() where !open.absorb(operation) {
      rows.append(open)
      open = DeltaRow(operation)
    }
    rows.append(open)
    return rows
  }

  /// Adds `next` if it continues the row; otherwise leaves the row unchanged.
  private mutating func absorb(_ next: Operation) -> Bool {
    guard next.id.replica == id.replica, Int64(next.id.seq) == Int64(id.seq) + Int64(length) else {
      return false
    }
    let lastID = OperationID(replica: id.replica, seq: next.id.seq - 1)
    switch (body, next.body) {
    case (.insertText(let own), .insertText(let other)):
      guard own.message == other.message, other.origins.left == lastID,
        other.origins.right == own.origins.right, !other.text.isEmpty,
        text.utf8.count + other.text.utf8.count <= Limits.contentBytesMax
      else { return false }
      text += other.text
      length += other.text.unicodeScalars.count
      return true
    case (.deleteText(let own), .deleteText(let other)):
      guard let joined = own.joined(with: other) else { return false }
      body = .deleteText(joined)
      length = joined.count
      return true
    case (
      .placeMessage(_, let ownSession, let ownOrigins, let ownStamp),
      .placeMessage(let message, let session, let origins, let stamp)
    ):
      guard session == ownSession, origins.continues(ownOrigins, behind: lastID),
        stamp == ownStamp
      else { return false }
      furtherTargets.append(message)
      length += 1
      return true
    case (
      .placeThread(_, let ownOrigins, let ownStamp),
      .placeThread(let session, let origins, let stamp)
    ):
      guard origins.continues(ownOrigins, behind: lastID), stamp == ownStamp else { return false }
      furtherTargets.append(session)
      length += 1
      return true
    default:
      return false
    }
  }
}

extension Operation.Origins {
  /// Whether a slot at these origins continues a run of slots whose last one is `last`.
  fileprivate func continues(_ run: Operation.Origins, behind last: OperationID) -> Bool {
    left == last && right == run.right && time == run.time
  }
}

extension Operation.DeleteText {
  /// This deletion and the next as one, if the next has the following ids and continues in the same
  /// direction; else nil.
  fileprivate func joined(with next: Operation.DeleteText) -> Operation.DeleteText? {
    guard message == next.message, first.replica == next.first.replica, next.count >= 1,
      Int.max - count >= next.count
    else { return nil }
    let goesForwards = (!backwards || count == 1) && (!next.backwards || next.count == 1)
    let goesBackwards = (backwards || count == 1) && (next.backwards || next.count == 1)
    var joined = self
    joined.count += next.count
    if goesForwards, Int64(next.first.seq) - Int64(first.seq) == count {
      joined.backwards = false
    } else if goesBackwards, Int64(first.seq) - Int64(next.first.seq) == next.count {
      joined.first = next.first
      joined.backwards = true
    } else {
      return nil
    }
    return joined
  }
}
