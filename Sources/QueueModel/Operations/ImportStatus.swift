/// What merging operations of others did.
public struct ImportStatus: Hashable, Sendable {
  /// Operations that were applied.
  public var applied = 0
  /// Operations that were known already.
  public var alreadyKnown = 0

  /// Nothing merged yet.
  public init() {}

  /// Adds what one merge did.
  package mutating func note(_ outcome: Workspace.MergeOutcome) {
    applied += outcome.applied.count
    alreadyKnown += outcome.duplicates
  }
}

extension ImportStatus: Codable {}
