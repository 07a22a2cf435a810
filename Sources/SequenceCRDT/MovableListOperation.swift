/// What an element of a list holds.
package enum ListValue: Hashable, Sendable {
  case integer(Int64)
  case text(String)
}

/// One replicated change of a `MovableList`.
///
/// An operation takes as many ids as it has units: an insertion one an element, everything else
/// one. An *element* is named by the id that inserted it, a *slot* by the id that inserted or
/// moved something there; origins name slots.
package enum ListOperation: Hashable, Sendable {
  /// Inserts elements with consecutive ids side by side: element *k* > 0 has the left origin
  /// `id + k − 1` and the same right origin. The stamp orders the first value and position.
  case insert(
    id: OperationID, left: OperationID?, right: OperationID?, stamp: Stamp, values: [ListValue])
  /// Writes an element's value; the latest stamp wins.
  case set(id: OperationID, element: OperationID, stamp: Stamp, value: ListValue)
  /// Inserts a slot and moves an element there; the latest stamp wins.
  case move(
    id: OperationID, element: OperationID, left: OperationID?, right: OperationID?, stamp: Stamp)
  /// Removes an element for good, whatever others do with it at the same time.
  case remove(id: OperationID, element: OperationID)

  /// The id of the first unit.
  package var id: OperationID {
    switch self {
    case .insert(let id, _, _, _, _), .set(let id, _, _, _), .move(let id, _, _, _, _),
      .remove(let id, _):
      id
    }
  }

  /// How many ids the operation takes.
  package var length: Int {
    switch self {
    case .insert(_, _, _, _, let values): values.count
    default: 1
    }
  }
}

/// Why a list refuses an operation or an image.
package enum ListFault: Error, Hashable, Sendable {
  /// The operations of the replica between what is known and this one are missing.
  case missing(OperationRange)
  /// An element, or a slot named as origin, is not here.
  case unknown(OperationID)
  /// A sequence number, count or length that cannot be.
  case invalid(OperationID)
  /// The slots' order cannot take it.
  case sequence(SequenceFault)
  /// There is no such index.
  case noSuchIndex(Int)
  /// Every sequence number of the replica is used up, or the list holds all it can.
  case full
}
