package import SequenceCRDT

/// Look-ups for code outside the state that reads operations.
extension Workspace {
  /// The session that an element reference of an operation names; nil if it names none.
  package func session(introducedBy reference: OperationID) -> SessionID? {
    sessionKeys[reference]
  }

  /// The state of a session in the thread queue; nil if there is no such session.
  ///
  /// - Complexity: O(1), unlike `session(_:)`, which counts positions.
  package func threadStanding(of id: SessionID) -> ThreadStatus? {
    guard let session = head(of: id), session.exists else { return nil }
    return ThreadStatus(
      isQueued: session.isInThreadQueue, isLocked: session.isLocked, name: session.displayName)
  }
}

/// The state of a session in the thread queue.
package struct ThreadStatus: Hashable, Sendable {
  package var isQueued: Bool
  package var isLocked: Bool
  /// The session's name, or its id.
  package var name: String

  /// Whether it is visible to its user.
  package var isShown: Bool { isQueued && !isLocked }
}
