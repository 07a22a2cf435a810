package import SequenceCRDT

/// A session or a message, independent of the introduction that an operation names.
package enum ElementName: Hashable, Sendable {
  case session(SessionID)
  case message(MessageID)
}

extension Workspace {
  /// The element that an operation introduced.
  package func element(introducedBy id: OperationID) -> ElementName? {
    sessionKeys[id].map(ElementName.session) ?? messageKeys[id].map(ElementName.message)
  }

  /// The known state of an element; nil for one that was never introduced.
  func elementState(_ element: ElementName) -> ElementState? {
    switch element {
    case .session(let key): sessionStates[key]?.element
    case .message(let key): messageStates[key]?.element
    }
  }

  /// The number of tags of an element's field: each change of the field visits all of them.
  package func tagCount(of element: ElementName, _ field: TagField) -> Int {
    elementState(element)?.tagIDs(field).count ?? 0
  }

  /// The number of operations that introduced an element: each further one visits all of them.
  package func introductionCount(of element: ElementName) -> Int {
    elementState(element)?.references.count ?? 0
  }
}
