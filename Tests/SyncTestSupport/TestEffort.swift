import Foundation

/// How long exhaustive tests may take.
package enum TestEffort {
  /// Whether everything is to be enumerated (`COSPOOL_EXHAUSTIVE=1`, in a release build) instead of
  /// what takes seconds.
  package static let isExhaustive =
    ProcessInfo.processInfo.environment["COSPOOL_EXHAUSTIVE"] == "1"
}
