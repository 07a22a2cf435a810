package import SequenceCRDT

/// A session or a message, whichever of its introductions an operation names.
package enum ElementName: Hashable, Sendable {
  case session(SessionID)
  case message(MessageID)
}

/// What makes an element costly to change: each of its tags and introductions is looked at again.
extension Workspace {
  /// The element that an operation introduced.
  package func element(introducedBy id: OperationID) -> ElementName? {
    sessionKeys[id].map(ElementName.session) ?? messageKeys[id].map(ElementName.message)
  }

  /// How many tags a field of an element has.
  package func tagCount(of element: ElementName, _ field: TagField) -> Int {
    switch element {
    case .session(let key): sessionStates[key]?.element.tagIDs(field).count ?? 0
    case .message(let key): messageStates[key]?.element.tagIDs(field).count ?? 0
    }
  }

  /// How many operations introduced an element.
  package func introductionCount(of element: ElementName) -> Int {
    switch element {
    case .session(let key): sessionStates[key]?.element.references.count ?? 0
    case .message(let key): messageStates[key]?.element.references.count ?? 0
    }
  }
}
