/// Times as text: ISO 8601, in UTC.
package enum ISOTime {
  /// With milliseconds: `2026-03-01T09:30:00.125Z`.
  ///
  /// - Parameter milliseconds: since 1970; negative before that.
  package static func text(milliseconds: Int64) -> String {
    let rest = remainder(milliseconds, 1_000)
    return "\(seconds(of: milliseconds)).\(padded(rest, 3))Z"
  }

  /// The same, without the milliseconds if they are 0.
  package static func shortText(milliseconds: Int64) -> String {
    remainder(milliseconds, 1_000) == 0
      ? seconds(of: milliseconds) + "Z" : text(milliseconds: milliseconds)
  }

  /// The milliseconds since 1970 of a text as `text(milliseconds:)` writes it; the fraction may be
  /// missing or have 1 to 3 digits. Returns nil for any other text.
  package static func milliseconds(of text: String) -> Int64? {
    let bytes = Array(text.utf8)
    let marks: [(index: Int, mark: Character)] = [
      (4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"),
    ]
    guard bytes.count >= 20, bytes.last == UInt8(ascii: "Z"),
      marks.allSatisfy({ bytes[$0.index] == $0.mark.asciiValue }),
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
      let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
      let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
      let fraction = fraction(bytes[19..<(bytes.count - 1)]),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let dayNumber = self.day(ofYear: year, month: month, day: day)
    guard date(ofDay: dayNumber) == (year, month, day) else { return nil }
    let seconds = dayNumber * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * 1_000 + fraction
  }

  /// Milliseconds of `.` and 1 to 3 digits, or of nothing.
  private static func fraction(_ bytes: ArraySlice<UInt8>) -> Int64? {
    guard let first = bytes.first else { return 0 }
    guard first == UInt8(ascii: "."), (2...4).contains(bytes.count),
      let digits = number(bytes.dropFirst())
    else { return nil }
    return digits * [100, 10, 1][bytes.count - 2]
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// The inverse of `date(ofDay:)`.
  private static func day(ofYear year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = quotient(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
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

// MARK: - In JSON and other encodings

extension ISOTime {
  /// Decodes a time as `text(milliseconds:)` writes it.
  ///
  /// - Returns: milliseconds since 1970.
  /// - Throws: `DecodingError` if there is no such text.
  package static func decode(from decoder: any Decoder) throws -> Int64 {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let milliseconds = milliseconds(of: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(text) is not a time as 2026-03-01T09:30:00.125Z")
    }
    return milliseconds
  }

  /// Encodes a time as `text(milliseconds:)` writes it.
  ///
  /// - Parameter milliseconds: since 1970.
  package static func encode(_ milliseconds: Int64, to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text(milliseconds: milliseconds))
  }
}
