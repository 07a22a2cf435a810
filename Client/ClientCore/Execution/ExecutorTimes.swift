/// How long an executor waits, and how often it tries.
enum ExecutorTimes {
  /// The number of consecutive attempts at a message whose agent cannot be started, or ends without
  /// a report.
  static let startsMax = 3
  /// The shortest wait before the next question after a refusal.
  static let retryMillisecondsMin: Int64 = 1_000
  static let retryMillisecondsMax: Int64 = 10_000
  /// How long a message that may start waits for the authority to grant it by an open request; then
  /// it is requested by name.
  static let overdueMilliseconds: Int64 = 1_000
  /// A question without an answer is asked again after this time.
  static let answerMilliseconds: Int64 = 5_000
  /// The shortest wait for a message whose agent names a later time: the agent's clock, or this
  /// device's, may be wrong.
  static let laterMillisecondsMin: Int64 = 10_000
  /// The longest such wait: the limits of agents end within a week.
  static let laterMillisecondsMax: Int64 = 8 * 86_400_000
  /// The interval at which a wait for a time of the wall clock is checked, because that clock may
  /// be set.
  static let wallLookMilliseconds: Int64 = 60_000
  /// How long the lease of an idle session is kept.
  static let idleMilliseconds: Int64 = 60_000
}
