import NetworkAddresses

/// Pauses pairing for sources that guessed wrong codes.
///
/// A source is an IPv4 address, or the first 64 bits of an IPv6 address: an owner of one such
/// address has all of them.
struct PairingThrottle: Hashable, Sendable {
  private struct Record: Hashable {
    var attempts: Int
    var changedAt: Int64
  }

  /// The maximum number of remembered sources; beyond it, the one silent for longest is forgotten.
  static let sourcesMax = 10_000

  private let attemptsMax: Int
  private let pauseMilliseconds: Int64
  private var records: [String: Record] = [:]

  init(failuresMax: Int, pauseMilliseconds: Int64) {
    attemptsMax = failuresMax
    self.pauseMilliseconds = pauseMilliseconds
  }

  private static func key(of source: String) -> String {
    InternetAddress(source)?.network.description ?? source
  }

  /// Milliseconds until the source may try again, nil if it may now.
  mutating func remainingPause(of source: String, uptimeMilliseconds: Int64) -> Int64? {
    let key = Self.key(of: source)
    guard let record = records[key] else { return nil }
    let elapsed = uptimeMilliseconds - record.changedAt
    guard elapsed < pauseMilliseconds else {
      records[key] = nil
      return nil
    }
    return record.attempts >= attemptsMax ? pauseMilliseconds - elapsed : nil
  }

  /// Counts an attempt, as a wrong one until it is forgiven.
  mutating func attempted(source: String, uptimeMilliseconds: Int64) {
    let key = Self.key(of: source)
    if records[key] == nil, records.count >= PairingThrottle.sourcesMax,
      let oldest = records.min(by: { ($0.value.changedAt, $0.key) < ($1.value.changedAt, $1.key) })
    {
      records[oldest.key] = nil
    }
    records[key, default: Record(attempts: 0, changedAt: 0)].attempts += 1
    records[key]?.changedAt = uptimeMilliseconds
  }

  /// Forgets the attempts of a source whose code was known, or could not be checked.
  mutating func forgive(source: String) {
    records[Self.key(of: source)] = nil
  }
}
