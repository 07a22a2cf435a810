/// Whether a message starts if its text was merged from several that were saved independently. The
/// raw value is the register's. Host and authority apply the same rule.
public enum MergePolicy: String, Hashable, Sendable, CaseIterable {
  /// It waits until a user has checked it.
  case wait
  /// It starts with the merged text.
  case run
}

extension MergePolicy: Codable {}
