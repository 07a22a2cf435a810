import Foundation

/// Which backups are kept: the latest of each of so many days, weeks and months that have one, in UTC,
/// and the latest of all.
package struct BackupRule: Codable, Hashable, Sendable {
  package var days: Int
  package var weeks: Int
  package var months: Int

  package static let standard = BackupRule(days: 7, weeks: 4, months: 6)
  /// The most of a kind that can be asked for.
  package static let countMax = 1_000

  package init(days: Int, weeks: Int, months: Int) {
    self.days = days
    self.weeks = weeks
    self.months = months
  }

  /// What each backup is kept as, `day`, `week`, `month` or `latest`; nothing for one that goes.
  ///
  /// - Parameter times: milliseconds since 1970, in any order.
  /// - Returns: in the same order.
  /// - Complexity: O(n log n).
  package func reasons(for times: [Int64]) -> [[String]] {
    var reasons = [[String]](repeating: [], count: times.count)
    let latestFirst = times.indices.sorted { times[$0] > times[$1] }
    if let latest = latestFirst.first { reasons[latest].append("latest") }
    for (name, count, period) in [
      ("day", days, BackupRule.day), ("week", weeks, BackupRule.week),
      ("month", months, BackupRule.month),
    ] {
      var seen: Set<Int> = []
      for index in latestFirst where seen.count < count {
        if seen.insert(period(times[index])).inserted { reasons[index].append(name) }
      }
    }
    return reasons
  }

  private static func day(_ milliseconds: Int64) -> Int {
    Int((Double(milliseconds) / 86_400_000).rounded(.down))
  }

  /// Weeks begin on Monday; 1 January 1970 was a Thursday.
  private static func week(_ milliseconds: Int64) -> Int {
    Int((Double(day(milliseconds) + 3) / 7).rounded(.down))
  }

  private static func month(_ milliseconds: Int64) -> Int {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    let parts = calendar.dateComponents(
      [.year, .month], from: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
    return (parts.year ?? 0) * 12 + (parts.month ?? 0)
  }
}
