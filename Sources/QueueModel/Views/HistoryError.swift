public import SequenceCRDT

/// Why the log cannot show the state at a version.
public enum HistoryError: Error, Hashable, Sendable {
  /// The version contains operations that this device lacks.
  case unknownVersion
  /// The version contains operations without others that they depend on; no device was ever in that
  /// state.
  case incompleteVersion
  /// The log begins later: a snapshot replaced the earlier entries.
  case forgotten(earliest: VersionVector)

  /// A stable name for scripts and the local API.
  public var code: String {
    switch self {
    case .unknownVersion: "unknownVersion"
    case .incompleteVersion: "incompleteVersion"
    case .forgotten: "historyForgotten"
    }
  }
}

extension HistoryError: CustomStringConvertible {
  /// What happened and what to do, in one or two sentences.
  public var description: String {
    switch self {
    case .unknownVersion:
      "This device has not got everything of that version yet. Sync first."
    case .incompleteVersion:
      "That is not a version: it has changes without others that they depend on."
    case .forgotten:
      "The log of this device reaches not that far back; a snapshot took the place of what was "
        + "before."
    }
  }
}
