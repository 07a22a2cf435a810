/// Times as text: ISO 8601, in UTC.
package enum ISOTime {
  /// With milliseconds: `2026-03-01T09:30:00.125Z`.
  ///
  /// - Parameter milliseconds: since 1970; negative before.
  package static func text(milliseconds: Int64) -> String {
    let rest = remainder(milliseconds, 1_000)
    return "\(seconds(of: milliseconds)).\(padded(rest, 3))Z"
  }

  /// The same; without the milliseconds if they are 0.
  package static func shortText(milliseconds: Int64) -> String {
    remainder(milliseconds, 1_000) == 0
      ? seconds(of: milliseconds) + "Z" : text(milliseconds: milliseconds)
  }

  private static func seconds(of milliseconds: Int64) -> String {
    let seconds = quotient(milliseconds, 1_000)
    let (year, month, day) = date(ofDay: quotient(seconds, 86_400))
    let rest = remainder(seconds, 86_400)
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
      + "T\(padded(rest / 3_600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
  }

  /// The date of a day since 1970, in the proleptic Gregorian calendar (Howard Hinnant,
  /// chrono-Compatible Low-Level Date Algorithms).
  private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = quotient(shifted, 146_097)
    let dayOfEra = remainder(shifted, 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  /// Division that rounds down.
  private static func quotient(_ value: Int64, _ divisor: Int64) -> Int64 {
    value >= 0 ? value / divisor : -((-1 - value) / divisor) - 1
  }

  /// The remainder of `quotient`: never negative.
  private static func remainder(_ value: Int64, _ divisor: Int64) -> Int64 {
    let rest = value % divisor
    return rest < 0 ? rest + divisor : rest
  }

  private static func padded(_ value: Int64, _ count: Int) -> String {
    let digits = String(value.magnitude)
    let zeros = String(repeating: "0", count: max(0, count - digits.count))
    return (value < 0 ? "-" : "") + zeros + digits
  }
}
