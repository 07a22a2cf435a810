import SequenceCRDT

/// A change of a message that may not fit one delta arrives in parts, and the connection may break
/// between them. So that no agent gets half of it, the change begins with a tag and ends by clearing
/// it; SPECIFICATION.md, section "Operations".
extension Workspace {
  /// Makes operations that change a message, marked where they are long.
  ///
  /// - Parameter bytes: about how many bytes they take, at least.
  mutating func changing<Failure: Error>(
    _ message: OperationID, bytes: Int, by author: inout Author,
    _ change: (inout Workspace, inout Author) throws(Failure) -> Void
  ) throws(Failure) {
    guard bytes > Limits.unmarkedChangeBytesMax else { return try change(&self, &author) }
    let mark = emit(
      .addTag(element: message, field: .incomplete, clears: [], note: ""), by: &author)
    try change(&self, &author)
    emit(.clearTags(element: message, field: .incomplete, clears: [mark]), by: &author)
  }

  /// What an operation takes in a delta besides its text, at most.
  static var operationBytes: Int { 32 }
}
