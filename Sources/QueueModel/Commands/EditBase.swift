public import SequenceCRDT

/// The state that an editor opened of a message: the ids of the scalars and their text.
///
/// Saving against it keeps what others wrote meanwhile, because the edit names scalars, not places.
public struct EditBase: Hashable, Sendable {
  /// The `addMessage` that introduced the content.
  public var content: OperationID
  /// The ids of the scalars in order, as stretches.
  public var ranges: [OperationRange]
  /// The text.
  public var text: String
  /// The live editions: saving against the base clears these.
  package var editions: [OperationID] = []

  /// This text, of which saving clears what another base had seen.
  package func cleared(as other: EditBase) -> EditBase {
    var base = self
    base.editions = other.editions
    return base
  }

  /// Leaves out the editions that came later than a version: who saves has not seen them.
  package func seen(at version: VersionVector) -> EditBase {
    var base = self
    base.editions.removeAll { !version.contains($0) }
    return base
  }
}

extension EditBase {
  fileprivate init?(_ message: MessageState) {
    guard let primary = message.primary else { return nil }
    self.init(
      content: primary.id, ranges: primary.content.visibleRanges, text: primary.content.text,
      editions: message.element.tagIDs(.edition))
  }
}

extension Workspace {
  /// Notes what a message's content is now, for a later `edit`.
  ///
  /// - Throws: `QueueError.messageNotFound`.
  public func editBase(_ id: MessageID) throws(QueueError) -> EditBase {
    guard let base = messageStates[id].flatMap(EditBase.init) else {
      throw .messageNotFound(id: id.description)
    }
    return base
  }

  /// The operation that introduced a message, as it is named now; nil if it is unknown.
  package func origin(of id: MessageID) -> OperationID? { messageStates[id]?.primary?.id }

  func content(_ addition: OperationID, of id: MessageID) -> TextContent? {
    messageStates[id]?.additions.first { $0.id == addition }?.content
  }
}
