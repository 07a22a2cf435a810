import SequenceCRDT

extension Operation {
  /// Checks what can be checked without a state.
  func checkForm() throws(MergeError) {
    guard id.replica.rawValue != 0, id.seq >= 1 else {
      throw .invalidOperation(operation: id, reason: "replica and sequence number start at 1")
    }
    guard length >= 1, let last = lastID, last.seq <= Limits.sequenceMax else {
      throw .invalidOperation(operation: id, reason: "it is empty or its ids overflow")
    }
    for dependency in dependencies
    where dependency.replica == id.replica && dependency.seq >= id.seq {
      throw .invalidReference(
        operation: id, reference: dependency, reason: "it names itself or a later operation")
    }
    guard origins.map({ Operation.timesOfSlots.contains($0.time) }) ?? true else {
      throw .invalidOperation(operation: id, reason: "no clock shows the time of its slot")
    }
    switch body {
    case .addTag(_, let field, _, let note):
      guard note.utf8.count <= field.noteBytesMax else {
        throw .limitReached(operation: id, what: "bytes of a text", max: field.noteBytesMax)
      }
    case .announceDevice(_, let name), .setRegister(_, _, .text(let name), _):
      guard name.utf8.count <= Limits.nameBytesMax else {
        throw .limitReached(operation: id, what: "bytes of a text", max: Limits.nameBytesMax)
      }
    case .insertText(let insertion):
      guard insertion.origins.time == 0 else {
        throw .invalidOperation(operation: id, reason: "text has no time")
      }
      guard insertion.text.utf8.count <= Limits.contentBytesMax else {
        throw .limitReached(operation: id, what: "bytes of content", max: Limits.contentBytesMax)
      }
    case .deleteText(let deletion):
      guard deletion.first.advanced(by: deletion.count - 1) != nil else {
        throw .invalidOperation(operation: id, reason: "its targets overflow")
      }
    default:
      break
    }
    guard clears.count <= Limits.clearedTagsMax else {
      throw .limitReached(operation: id, what: "cleared tags", max: Limits.clearedTagsMax)
    }
  }
}
