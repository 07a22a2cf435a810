import WireProtocol

/// Times and limits of the sync connection; SPECIFICATION.md, section "Transport".
package enum ClientLimits {
  /// From the start of a connection to its upgrade, and from `hello` to `welcome`.
  package static let openingMilliseconds: Int64 = 15_000
  /// After this time, a user who wants to connect now gets a new attempt instead of waiting for the
  /// open one.
  package static let patienceMilliseconds: Int64 = 2_000
  /// A connection without a sign of life for this long is dead.
  package static let silenceMilliseconds: Int64 = 45_000
  package static let pingMilliseconds: Int64 = 20_000
  /// Received changes are durable, and acknowledged, after this time at the latest.
  package static let synchronizeMilliseconds: Int64 = 50
  /// A batch without an answer for this long was lost; the connection is started again.
  package static let answerMilliseconds: Int64 = 30_000
  /// The same for a number of bytes on a slow line.
  static func answerMilliseconds(bytes: Int) -> Int64 {
    answerMilliseconds + Int64(bytes / batchBytesPerSecondMin) * 1_000
  }
  /// The number of bytes of a batch that extend the time by one second: on a slow line they take
  /// long.
  package static let batchBytesPerSecondMin = 4 << 10
  package static let backoffMillisecondsMin: Int64 = 500
  package static let backoffMillisecondsMax: Int64 = 30_000
  /// After this time a connection was healthy: the backoff starts again.
  package static let healthMilliseconds: Int64 = 60_000
  /// For this long after the loss of an established connection, it is soon tried again: usually the
  /// server restarts, or the device moved between networks.
  package static let returnMilliseconds: Int64 = 120_000
  /// The minimum age of an established connection; the first attempts after it come quickly.
  package static let standingMilliseconds: Int64 = 5_000
  /// The number of quick attempts, and the longest wait before each.
  package static let quickTries = 2
  package static let quickMilliseconds: Int64 = 240
  /// The longest wait before the following attempts, and before those to confirm a lease.
  package static let returnPauseMilliseconds: Int64 = 4_000
  package static let leasePauseMilliseconds: Int64 = 2_000
  /// The maximum number of open batches.
  package static let windowBatchesMax = 8
  /// The maximum bytes of open batches: at the beginning of a connection, and the bounds within
  /// which they follow the line.
  package static let windowBytesFirst = 64 << 10
  package static let windowBytesRange = (32 << 10)...(windowBatchesMax * batchBytesMax)
  /// If the answer to a batch took longer than this, too much was in front of it. Requests wait in
  /// the same line, and a lease has to be renewed within ten seconds.
  package static let windowMilliseconds: Int64 = 4_000
  /// Ids in one batch, unless a single command has more.
  package static let batchUnitsMax = 4_096
  /// Log entries examined for one batch.
  package static let batchEntriesMax = 128
  /// Bytes of one batch, below the frame's limit.
  package static let batchBytesMax = 256 << 10
  /// Bytes of a whole snapshot, all parts together: more than a server allows a state to have.
  package static let snapshotBytesMax = 2 * WireLimits.stateBytesMax
  /// The wall clock is corrected if it differs from the server's by more.
  package static let clockToleranceMilliseconds: Int64 = 2_000
  /// How often the device looks for messages to forget; the first time within this time after a
  /// start.
  package static let forgettingMilliseconds: Int64 = 86_400_000
  package static let forgettingMillisecondsFirst: Int64 = 3_600_000
  /// How soon it looks again if it did not have everything.
  package static let forgettingMillisecondsAgain: Int64 = 600_000
  /// Messages that are forgotten together, and the pause before the next ones.
  package static let forgettingMessagesMax = 20
  package static let forgettingMillisecondsBetween: Int64 = 1_000
}
