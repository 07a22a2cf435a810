import QueueModel
import SequenceCRDT

/// Takes the rows of a delta one by one, in their order, while they are read or to be written.
///
/// Text comes as bytes, so that it can go from a delta into a text and back without a `String` a
/// row. Rows that came before a fault of a decoder have been taken: a sink that must take all or
/// nothing works on a copy.
protocol DeltaRowSink {
  /// Takes a run of inserted scalars.
  ///
  /// - Parameter utf8: `row.length` scalars, checked.
  /// - Returns: false where no further row is wanted.
  mutating func insertText(_ row: TextInsertionRow, utf8: Span<UInt8>) -> Bool

  /// Takes a run of deletions; the first one's id is `id`.
  mutating func deleteText(id: OperationID, _ row: Operation.DeleteText) -> Bool

  /// Takes any other operation.
  ///
  /// - Parameter furtherTargets: what follow-up placements with consecutive ids move, each with
  ///   the placement before it as left origin.
  mutating func perform(_ operation: Operation, furtherTargets: [OperationID]) -> Bool
}

/// Where the rows of a delta come from, such as operations or the log of a text.
protocol DeltaRowSource {
  /// Sends all rows in their order, as long as the sink wants them; the same at every call.
  ///
  /// What can be joined is joined; SPECIFICATION.md, section "Delta".
  func sendRows(to sink: inout some DeltaRowSink)
}

/// An insertion of text without the text.
struct TextInsertionRow: Hashable, Sendable {
  /// The id of the first scalar.
  var id: OperationID
  var message: OperationID
  var origins: Operation.Origins
  /// Scalars, at least 1.
  var length: Int

  init(id: OperationID, message: OperationID, origins: Operation.Origins, length: Int) {
    self.id = id
    self.message = message
    self.origins = origins
    self.length = length
  }
}

/// Makes operations of rows.
struct OperationSink: DeltaRowSink {
  private(set) var operations: [Operation] = []

  mutating func insertText(_ row: TextInsertionRow, utf8: Span<UInt8>) -> Bool {
    let text = utf8.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    operations.append(
      Operation(
        id: row.id,
        body: .insertText(
          Operation.InsertText(message: row.message, origins: row.origins, text: text))))
    return true
  }

  mutating func deleteText(id: OperationID, _ row: Operation.DeleteText) -> Bool {
    operations.append(Operation(id: id, body: .deleteText(row)))
    return true
  }

  mutating func perform(_ operation: Operation, furtherTargets: [OperationID]) -> Bool {
    operations.append(operation)
    var last = operation
    for target in furtherTargets {
      guard let next = last.id.advanced(by: 1) else { return false }
      switch last.body {
      case .placeMessage(_, let session, var origins, let stamp):
        origins.left = last.id
        last.body = .placeMessage(
          message: target, session: session, origins: origins, stamp: stamp)
      case .placeThread(_, var origins, let stamp):
        origins.left = last.id
        last.body = .placeThread(session: target, origins: origins, stamp: stamp)
      default:
        preconditionFailure("only placements have further targets")
      }
      last.id = next
      operations.append(last)
    }
    return true
  }
}
