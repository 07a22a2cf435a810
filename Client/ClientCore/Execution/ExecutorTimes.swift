/// How long an executor waits, and how often it tries.
enum ExecutorTimes {
  /// How often in a row a message is tried whose agent cannot be started, or ends without a word.
  static let startsMax = 3
  /// Backoff before the next question after one that was answered with no.
  static let retryMillisecondsMin: Int64 = 1_000
  static let retryMillisecondsMax: Int64 = 10_000
  /// How long a message that may start waits for the authority to let it out by itself, if it was
  /// asked to; then it is asked for.
  static let overdueMilliseconds: Int64 = 1_000
  /// A question without an answer is asked again after this time.
  static let answerMilliseconds: Int64 = 5_000
  /// A message that an agent cannot work on before a time waits so long at least, whatever time it
  /// names: its clock, or this device's, may be wrong.
  static let laterMillisecondsMin: Int64 = 10_000
  /// And so long at most: the limits of agents end within a week.
  static let laterMillisecondsMax: Int64 = 8 * 86_400_000
  /// A wait for a time of the wall clock, which may be set, is looked at again so often.
  static let wallLookMilliseconds: Int64 = 60_000
  /// How long the lease of an idle session is kept.
  static let idleMilliseconds: Int64 = 60_000
}
