import Foundation

/// How long exhaustive tests may take.
package enum TestEffort {
  /// Whether to enumerate everything (`COSPOOL_EXHAUSTIVE=1`, in a release build), instead of cases
  /// that take seconds.
  package static let isExhaustive =
    ProcessInfo.processInfo.environment["COSPOOL_EXHAUSTIVE"] == "1"
}
