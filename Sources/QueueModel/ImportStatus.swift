public import SequenceCRDT

/// What merging operations of others did.
public struct ImportStatus: Hashable, Sendable, Codable {
  /// Operations that were applied, those that had waited before among them.
  public var applied = 0
  /// Operations that were known already.
  public var alreadyKnown = 0
  /// Operations that wait for others now.
  public var waiting = 0
  /// What has to arrive before they can be applied, by replica.
  public var missing: [OperationRange] = []

  /// Nothing merged yet.
  public init() {}

  /// Adds what one merge did.
  package mutating func note(_ outcome: Workspace.MergeOutcome) {
    applied += outcome.applied.count
    alreadyKnown += outcome.duplicates
  }

  /// Takes over what waits in a workspace.
  package mutating func noteWaiting(in workspace: Workspace) {
    waiting = workspace.pendingOperations.count
    missing = workspace.missingRanges
  }
}
