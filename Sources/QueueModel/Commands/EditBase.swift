public import SequenceCRDT

/// The state of a message when an editor opened it: the ids of the scalars and their text.
///
/// An edit names scalars, not places, so saving keeps what others wrote meanwhile.
public struct EditBase: Hashable, Sendable {
  /// The `addMessage` that introduced the content.
  public var content: OperationID
  /// The ids of the scalars in order, as stretches.
  public var ranges: [OperationRange]
  /// The text.
  public var text: String
  /// The live editions: saving against the base clears these.
  package var editions: [OperationID] = []

  /// This text, with the editions of another base: saving clears those.
  package func cleared(as other: EditBase) -> EditBase {
    var base = self
    base.editions = other.editions
    return base
  }

  /// Omits the editions that are later than a version: the user who saves has not seen them.
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
  /// Captures a message's present content for a later `edit`.
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
