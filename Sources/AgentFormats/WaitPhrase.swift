#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// When a limit ends, according to a sentence of an agent or its provider.
///
/// | in the sentence | as |
/// |---|---|
/// | `try again in 3 days 4 hours 2 minutes`, `try again in 1.898s`, `resets in 2h5m` | a wait |
/// | `try again at 12:16 PM`, `resets 3pm (Europe/Berlin)`, `resets at 15:30 UTC` | a time of day |
/// | `try again at Apr 28th, 2026 10:03 PM`, `resets Apr 28 at 10pm` | a date |
/// | `try again at 2026-04-28T22:03:00Z` | a date |
package enum WaitPhrase {
  /// Ten years, in milliseconds: no wait is longer.
  private static let waitMax: Int64 = 315_360_000_000
  /// A time of day that has passed by less than this, in milliseconds, is one of today.
  private static let justPast: Int64 = 600_000
  /// A date without a year that has passed by more than this, in milliseconds, is one of next year.
  private static let longPast: Int64 = 7 * 86_400_000

  /// The end of the wait in milliseconds since 1970; nil if the sentence has none.
  ///
  /// - Parameters:
  ///   - now: in milliseconds since 1970.
  ///   - zone: the zone of a time without one.
  package static func time(in text: String, now: Int64, zone: TimeZone = .current) -> Int64? {
    let words = PhraseScanner(text)
    for phrase in ["try again in", "trying again in", "retry in", "resets in"] {
      guard var rest = words.behind(phrase), let wait = wait(&rest) else { continue }
      return now + wait
    }
    for phrase in [
      "try again at", "try again on", "try again after", "resets at", "resets on", "resets",
    ] {
      guard var rest = words.behind(phrase), let time = moment(&rest, now: now, zone) else {
        continue
      }
      return time
    }
    return nil
  }

  // MARK: - A wait

  private static func wait(_ rest: inout PhraseScanner) -> Int64? {
    var total: Double = 0
    while true {
      rest.skip { $0 == " " || $0 == "," }
      if rest.takes("and ") { continue }
      guard let number = rest.decimal() else { break }
      rest.skip { $0 == " " }
      guard let unit = milliseconds(ofUnit: rest.letters()) else { break }
      total += number * unit
    }
    guard total > 0, total.isFinite else { return nil }
    return min(Int64(min(total, Double(waitMax)).rounded(.up)), waitMax)
  }

  private static func milliseconds(ofUnit name: String) -> Double? {
    switch name {
    case "ms", "millisecond", "milliseconds": 1
    case "s", "sec", "secs", "second", "seconds": 1_000
    case "m", "min", "mins", "minute", "minutes": 60_000
    case "h", "hr", "hrs", "hour", "hours": 3_600_000
    case "d", "day", "days": 86_400_000
    case "w", "week", "weeks": 604_800_000
    default: nil
    }
  }

  // MARK: - A time of day or a date

  private static func moment(
    _ rest: inout PhraseScanner, now: Int64, _ zone: TimeZone
  ) -> Int64? {
    rest.skip { $0 == " " }
    let date = rest.date()
    if date != nil {
      rest.skip { $0 == " " || $0 == "," || $0 == "t" }
      _ = rest.takes("at ")
    }
    let clock = rest.clock()
    guard date != nil || clock != nil else { return nil }
    let zone = rest.zone() ?? zone
    let seconds = clock ?? 0
    let today = CivilDate(milliseconds: now + offset(of: zone, at: now))
    guard let date else {
      let time = milliseconds(today, seconds, zone)
      guard time < now - justPast else { return time }
      return milliseconds(today.next, seconds, zone)
    }
    if let year = date.year {
      return milliseconds(CivilDate(year: year, month: date.month, day: date.day), seconds, zone)
    }
    let time = milliseconds(
      CivilDate(year: today.year, month: date.month, day: date.day), seconds, zone)
    guard time < now - longPast else { return time }
    return milliseconds(
      CivilDate(year: today.year + 1, month: date.month, day: date.day), seconds, zone)
  }

  private static func milliseconds(_ date: CivilDate, _ seconds: Int, _ zone: TimeZone) -> Int64 {
    let local = date.days * 86_400_000 + Int64(seconds) * 1_000
    // In the night of a clock change, the offset at the time itself counts.
    let near = local - offset(of: zone, at: local)
    return local - offset(of: zone, at: near)
  }

  private static func offset(of zone: TimeZone, at milliseconds: Int64) -> Int64 {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    return Int64(zone.secondsFromGMT(for: date)) * 1_000
  }
}

/// A day of the calendar.
struct CivilDate: Hashable, Sendable {
  var year: Int
  var month: Int
  var day: Int

  init(year: Int, month: Int, day: Int) {
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// The day of a time, in milliseconds since 1970.
  init(milliseconds: Int64) {
    self.init(days: Int64((Double(milliseconds) / 86_400_000).rounded(.down)))
  }

  /// By Howard Hinnant's `civil_from_days`.
  private init(days: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
  }

  /// Since 1970, by `days_from_civil`.
  var days: Int64 {
    let shifted = Int64(year) - (month <= 2 ? 1 : 0)
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  var next: CivilDate { CivilDate(days: days + 1) }
}
