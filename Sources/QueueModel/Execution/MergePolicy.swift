/// Whether a message starts whose text was merged of several that were saved apart; the raw value is the
/// register's. Host and authority go by the same.
public enum MergePolicy: String, Hashable, Sendable, CaseIterable {
  /// It waits until a user has checked it.
  case wait
  /// It starts with the merged text.
  case run
}

extension MergePolicy: Codable {}
