/// Pauses pairing for sources that guessed wrong codes.
struct PairingThrottle: Hashable, Sendable {
  private struct Record: Hashable {
    var failures: Int
    var changedAt: Int64
  }

  /// Sources remembered; past it the one that was silent longest is forgotten.
  static let sourcesMax = 10_000

  private let failuresMax: Int
  private let pauseMilliseconds: Int64
  private var records: [String: Record] = [:]

  init(failuresMax: Int, pauseMilliseconds: Int64) {
    self.failuresMax = failuresMax
    self.pauseMilliseconds = pauseMilliseconds
  }

  /// Milliseconds until the source may try again, nil where it may now.
  mutating func remainingPause(of source: String, uptimeMilliseconds: Int64) -> Int64? {
    guard let record = records[source] else { return nil }
    let elapsed = uptimeMilliseconds - record.changedAt
    guard elapsed < pauseMilliseconds else {
      records[source] = nil
      return nil
    }
    return record.failures >= failuresMax ? pauseMilliseconds - elapsed : nil
  }

  /// Counts a wrong code.
  mutating func failed(source: String, uptimeMilliseconds: Int64) {
    if records[source] == nil, records.count >= PairingThrottle.sourcesMax,
      let oldest = records.min(by: { ($0.value.changedAt, $0.key) < ($1.value.changedAt, $1.key) })
    {
      records[oldest.key] = nil
    }
    records[source, default: Record(failures: 0, changedAt: 0)].failures += 1
    records[source]?.changedAt = uptimeMilliseconds
  }

  /// Forgets the failures of a source that knew a code.
  mutating func succeeded(source: String) {
    records[source] = nil
  }
}
