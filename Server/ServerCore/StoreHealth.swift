import QueueModel

/// Whether the store works, judged by its answers, and which of its data is damaged.
struct StoreHealth: Sendable {
  private let retryMilliseconds: Int64
  private let damageRetryMilliseconds: Int64
  /// When it failed last, uptime; nil while it works.
  private var failedAt: Int64?
  private var isProbed = false
  /// Workspaces that could not be loaded because they are damaged, and the uptime of the last
  /// attempt.
  private var damagedWorkspaces: [WorkspaceID: Int64] = [:]
  /// When damaged pushes were last found, uptime.
  private var pushesDamagedAt: Int64?

  init(_ configuration: ServerConfiguration) {
    retryMilliseconds = configuration.times.storageRetryMilliseconds
    damageRetryMilliseconds = configuration.times.damageRetryMilliseconds
  }

  var works: Bool { failedAt == nil }

  /// Whether it failed recently; then it gets no new tasks.
  func isLeftAlone(at now: ServerTime) -> Bool {
    isWithin(retryMilliseconds, of: failedAt, now)
  }

  /// A damaged workspace does not delay the others.
  mutating func failed(_ fault: StorageFault, at now: ServerTime) {
    if fault.code != .corrupt { failedAt = now.uptimeMilliseconds }
  }

  /// - Returns: whether it had failed before.
  mutating func worked() -> Bool {
    defer { failedAt = nil }
    return failedAt != nil
  }

  // MARK: - Probes

  /// Whether it is time to check whether it works again.
  func needsProbe(at now: ServerTime) -> Bool { !works && !isProbed && !isLeftAlone(at: now) }

  mutating func probeBegan() { isProbed = true }
  mutating func probeEnded() { isProbed = false }

  // MARK: - Damage

  mutating func wasRead(_ workspace: WorkspaceID) { damagedWorkspaces[workspace] = nil }

  mutating func failedToRead(
    _ workspace: WorkspaceID, _ fault: StorageFault, at now: ServerTime
  ) {
    if fault.code == .corrupt { damagedWorkspaces[workspace] = now.uptimeMilliseconds }
  }

  mutating func failedToReadPushes(_ fault: StorageFault, at now: ServerTime) {
    if fault.code == .corrupt { pushesDamagedAt = now.uptimeMilliseconds }
  }

  /// Whether a workspace was recently found damaged; then it is read only on request.
  func isDamaged(_ workspace: WorkspaceID, at now: ServerTime) -> Bool {
    isWithin(damageRetryMilliseconds, of: damagedWorkspaces[workspace], now)
  }

  func arePushesDamaged(at now: ServerTime) -> Bool {
    isWithin(damageRetryMilliseconds, of: pushesDamagedAt, now)
  }

  private func isWithin(_ milliseconds: Int64, of moment: Int64?, _ now: ServerTime) -> Bool {
    moment.map { now.uptimeMilliseconds - $0 < milliseconds } ?? false
  }
}
