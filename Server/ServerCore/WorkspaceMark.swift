package import QueueModel

/// A random number in the row of a workspace, which changes whenever something is stored there.
///
/// A node that finds a mark other than its own is behind the store: another node serves the
/// workspace, the store went back in time, or a commit reported as failed was stored. The node then
/// forgets the workspace. A counter would not work: a store that lost its latest commits would
/// count through the same numbers again.
package struct WorkspaceMark: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// Why a node may no longer serve a workspace.
package enum WorkspaceLoss: String, Hashable, Sendable {
  /// The store has another mark than the node.
  case changedElsewhere
  /// The store has no such workspace.
  case deleted

  /// The reason for the devices whose connections end.
  package var reason: String {
    switch self {
    case .changedElsewhere:
      "the server's store has changed without this process: connect again"
    case .deleted: "the workspace was deleted"
    }
  }
}

/// The result of a commit.
package struct CommitResult: Hashable, Sendable {
  /// The fresh marks of the workspaces whose changes were stored.
  package var marks: [WorkspaceID: WorkspaceMark]
  /// The workspaces for which nothing was stored.
  package var lost: [WorkspaceID: WorkspaceLoss]

  package init(
    marks: [WorkspaceID: WorkspaceMark] = [:], lost: [WorkspaceID: WorkspaceLoss] = [:]
  ) {
    self.marks = marks
    self.lost = lost
  }
}
