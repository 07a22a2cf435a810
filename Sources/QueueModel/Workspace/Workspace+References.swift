package import SequenceCRDT

/// What somebody who reads operations beside the state asks it.
extension Workspace {
  /// The session that an element reference of an operation names; nil where it names none.
  package func session(introducedBy reference: OperationID) -> SessionID? {
    sessionKeys[reference]
  }

  /// How a session stands in the thread queue; nil where there is no such session.
  ///
  /// - Complexity: O(1), unlike `session(_:)`, which counts positions.
  package func threadStanding(of id: SessionID) -> ThreadStatus? {
    guard let session = head(of: id), session.exists else { return nil }
    return ThreadStatus(
      isQueued: session.isInThreadQueue, isLocked: session.isLocked, name: session.displayName)
  }
}

/// How a session stands in the thread queue.
package struct ThreadStatus: Hashable, Sendable {
  package var isQueued: Bool
  package var isLocked: Bool
  /// The session's name, or its id.
  package var name: String

  /// Its person sees it.
  package var isShown: Bool { isQueued && !isLocked }
}
