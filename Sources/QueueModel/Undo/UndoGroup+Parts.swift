package import SequenceCRDT

// Steps are put together by the recorder here, and by the codec that reads them from a disk.

extension UndoGroup.TagStep {
  package init(
    of element: ElementName, field: TagField, put: [OperationID], cleared: [OperationID],
    restored: [String]?, isOvertaken: Bool
  ) {
    self.init(
      element: element, field: field, put: put, cleared: cleared, restored: restored,
      isOvertaken: isOvertaken)
  }
}

extension UndoGroup.TagReplacement {
  package init(of field: TagField, old: OperationID, new: OperationID) {
    self.init(field: field, old: old, new: new)
  }
}

extension UndoGroup.RegisterStep {
  package init(
    of element: ElementName, field: RegisterField, before: RegisterValue?,
    beforeWriter: OperationID?, writer: OperationID
  ) {
    self.init(
      element: element, field: field, before: before, beforeWriter: beforeWriter, writer: writer)
  }
}

extension UndoGroup.PlaceStep {
  package init(
    of key: Key, session: SessionID?, slot: OperationID, left: Key?, right: Key?,
    writer: OperationID
  ) {
    self.init(
      key: key, session: session, slot: slot, left: left, right: right, writer: writer)
  }
}

extension UndoGroup.QueuedAtStep {
  package init(
    of session: SessionID, before: Int64, beforeWriter: OperationID, writer: OperationID
  ) {
    self.init(session: session, before: before, beforeWriter: beforeWriter, writer: writer)
  }
}

extension UndoGroup.TextStep {
  package init(
    of message: MessageID, content: OperationID, inserted: [OperationRange],
    deleted: [UndoGroup.DeletedText]
  ) {
    self.init(message: message, content: content, inserted: inserted, deleted: deleted)
  }
}

extension UndoGroup.DeletedText {
  package init(
    of range: OperationRange, text: String, left: OperationID?, right: OperationID?
  ) {
    self.init(range: range, text: text, left: left, right: right)
  }
}
