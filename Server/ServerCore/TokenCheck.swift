/// When the tokens of connected devices are checked against the store.
struct TokenCheck: Sendable {
  private let everyMilliseconds: Int64
  /// When the last check began, uptime; a time in the distant past if there was none.
  private var beganAt: Int64 = .min / 2
  private var isUnderWay = false

  init(everyMilliseconds: Int64) {
    self.everyMilliseconds = everyMilliseconds
  }

  /// Begins a check if it is time.
  ///
  /// - Returns: whether it began; it ends at once if the store is not needed.
  mutating func begin(at now: ServerTime) -> Bool {
    guard !isUnderWay, now.uptimeMilliseconds - beganAt >= everyMilliseconds else { return false }
    beganAt = now.uptimeMilliseconds
    return true
  }

  mutating func storeWasAsked() { isUnderWay = true }
  mutating func storeAnswered() { isUnderWay = false }
}
