import SequenceCRDT

/// Pausing and resuming a session's queue.
extension Workspace {
  mutating func pause(
    _ id: SessionID, reason: String, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    let reason = reason.trimmedOfWhitespace()
    guard reason.utf8.count <= Limits.nameBytesMax else {
      throw .invalidName(
        field: "reason", reason: "it is longer than \(Limits.nameBytesMax) bytes")
    }
    emit(
      .addTag(
        element: try reference(of: session), field: .paused,
        clears: session.element.tagIDs(.paused), note: reason),
      by: &author)
    return .done
  }

  mutating func resume(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.isPaused else { return .unchanged }
    emit(
      .clearTags(
        element: try reference(of: session), field: .paused,
        clears: session.element.tagIDs(.paused)),
      by: &author)
    return .done
  }
}
