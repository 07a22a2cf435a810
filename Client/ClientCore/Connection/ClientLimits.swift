import WireProtocol

/// Times and maxima of the sync connection; SPECIFICATION.md, section "Connections".
package enum ClientLimits {
  /// From the start of a connection to its upgrade, and from `hello` to `welcome`.
  package static let openingMilliseconds: Int64 = 15_000
  /// A person who wants to be connected now need not wait for a try that has taken so long.
  package static let patienceMilliseconds: Int64 = 2_000
  /// A connection without a sign of life for so long is dead.
  package static let silenceMilliseconds: Int64 = 45_000
  package static let pingMilliseconds: Int64 = 20_000
  /// What came is durable, and acknowledged, after so long at the latest.
  package static let synchronizeMilliseconds: Int64 = 50
  /// A batch not answered for so long was lost; the connection is started again.
  package static let answerMilliseconds: Int64 = 30_000
  /// The same for so many bytes on a slow line.
  static func answerMilliseconds(bytes: Int) -> Int64 {
    answerMilliseconds + Int64(bytes / batchBytesPerSecondMin) * 1_000
  }
  /// So many bytes of a batch give it one second more: on a slow line they are under way for long.
  package static let batchBytesPerSecondMin = 4 << 10
  package static let backoffMillisecondsMin: Int64 = 500
  package static let backoffMillisecondsMax: Int64 = 30_000
  /// A connection that lasted so long was healthy: the backoff starts over.
  package static let healthMilliseconds: Int64 = 60_000
  /// For so long after the loss of a connection that stood, it is soon tried again: as a rule the
  /// server starts anew, or the device moved between networks.
  package static let returnMilliseconds: Int64 = 120_000
  /// Such a connection has stood for so long at least; the first tries after it come quickly.
  package static let standingMilliseconds: Int64 = 5_000
  /// How many tries come quickly, and the longest wait before each.
  package static let quickTries = 2
  package static let quickMilliseconds: Int64 = 240
  /// The longest wait before the tries that follow, and where a lease is to be confirmed.
  package static let returnPauseMilliseconds: Int64 = 4_000
  package static let leasePauseMilliseconds: Int64 = 2_000
  /// Batches under way at once.
  package static let windowBatchesMax = 8
  /// Bytes of batches under way, beyond which no further one is sent: at the beginning of a
  /// connection, and within what bounds they follow the line.
  package static let windowBytesFirst = 64 << 10
  package static let windowBytesRange = (32 << 10)...(windowBatchesMax * batchBytesMax)
  /// A batch that took longer than this to be answered stood behind too much: requests stand there,
  /// too, and a lease has to be renewed within ten seconds.
  package static let windowMilliseconds: Int64 = 4_000
  /// Ids in one batch, if one command does not take more.
  package static let batchUnitsMax = 4_096
  /// Log entries looked at for one batch.
  package static let batchEntriesMax = 128
  /// Bytes of one batch, below the frame's limit.
  package static let batchBytesMax = 256 << 10
  /// Bytes of a whole snapshot, all parts together: more than a server lets a state grow to.
  package static let snapshotBytesMax = 2 * WireLimits.stateBytesMax
  /// The wall clock is corrected if it differs from the server's by more.
  package static let clockToleranceMilliseconds: Int64 = 2_000
  /// How often what is over for long is looked for; the first time within so long of a start.
  package static let forgettingMilliseconds: Int64 = 86_400_000
  package static let forgettingMillisecondsFirst: Int64 = 3_600_000
  /// Messages that are forgotten at once.
  package static let forgettingMessagesMax = 20
}
