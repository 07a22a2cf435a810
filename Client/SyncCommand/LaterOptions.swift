import ArgumentParser
import Basics
import Foundation

/// The earliest start of a message, as a user writes it.
struct LaterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Start it no earlier than this local time: 02:00, or 2026-12-01 02:00.", valueName: "time"))
  var at: String?
  @Option(help: ArgumentHelp("Start it only after this delay: 90m, 3h, 1d12h.", valueName: "time"))
  var `in`: String?

  /// From which they are counted.
  var now = Date.now

  private enum CodingKeys: CodingKey { case at, `in` }

  var isGiven: Bool { at != nil || `in` != nil }

  func validate() throws {
    if at != nil, `in` != nil { throw ValidationError("Give --at or --in, not both.") }
  }

  /// The time in the form of requests; nil if no option was given.
  ///
  /// - Throws: `CommandFailure` if it cannot be read, has passed, or is more than a year ahead.
  func later(zone: TimeZone = .current) throws -> String? {
    guard
      let date = try at.map({ try LaterTime.date(at: $0, now: now, zone: zone) })
        ?? `in`.map({ try LaterTime.date(in: $0, now: now) })
    else { return nil }
    return ISOTime.text(milliseconds: Int64((date.timeIntervalSince1970 * 1_000).rounded()))
  }
}

/// A command with such a time.
protocol LaterCommand: DaemonCommand {
  var time: LaterOptions { get set }
}

/// The messages that another one waits for, as a user writes them: ids with commas between them.
struct NeedNames: ExpressibleByArgument {
  var names: [String]

  init?(argument: String) {
    names = argument.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
    if names.isEmpty { return nil }
  }
}

/// Times that a user writes.
enum LaterTime {
  private static let daysMax = 366.0

  /// A time of day, which is the next one; or a date with a time of day, in the zone; or an ISO 8601 time with a
  /// zone of its own.
  static func date(at text: String, now: Date, zone: TimeZone) throws(CommandFailure) -> Date {
    for hasFraction in [false, true] {
      let format = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      if let date = try? format.parse(text) { return try checked(date, text, now) }
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let parts = text.split(whereSeparator: { $0 == " " || $0 == "T" })
    guard let clock = parts.last.flatMap({ numbers(of: $0, by: ":") }),
      (2...3).contains(clock.count),
      clock[0] < 24, clock[1] < 60, clock.count == 2 || clock[2] < 60
    else { throw unreadable(text) }
    var time = DateComponents(
      hour: clock[0], minute: clock[1], second: clock.count == 3 ? clock[2] : 0)
    guard parts.count == 2 else {
      guard parts.count == 1,
        let next = calendar.nextDate(after: now, matching: time, matchingPolicy: .nextTime)
      else { throw unreadable(text) }
      return next
    }
    guard let day = numbers(of: parts[0], by: "-"), day.count == 3, day[0] > 1969 else {
      throw unreadable(text)
    }
    (time.year, time.month, time.day) = (day[0], day[1], day[2])
    // A day that its month does not have is invalid. An hour that summer time skips means the next
    // one.
    guard time.month.map({ (1...12).contains($0) }) == true,
      let month = calendar.date(from: DateComponents(year: day[0], month: day[1])),
      calendar.range(of: .day, in: .month, for: month)?.contains(day[2]) == true,
      let date = calendar.date(from: time)
    else { throw unreadable(text) }
    return try checked(date, text, now)
  }

  /// A time from now: numbers with `d`, `h`, `m` and `s`.
  static func date(in text: String, now: Date) throws(CommandFailure) -> Date {
    let units: [Character: Double] = ["d": 86_400, "h": 3_600, "m": 60, "s": 1]
    var seconds = 0.0
    var digits = ""
    var isComplete = false
    for character in text {
      if character.isASCII, character.isNumber, digits.count < 9 {
        digits.append(character)
        isComplete = false
      } else if let unit = units[character], let number = Double(digits) {
        seconds += number * unit
        (digits, isComplete) = ("", true)
      } else {
        throw unreadable(duration: text)
      }
    }
    guard isComplete, seconds > 0 else { throw unreadable(duration: text) }
    return try checked(now.addingTimeInterval(seconds), text, now)
  }

  private static func checked(
    _ date: Date, _ text: String, _ now: Date
  ) throws(CommandFailure) -> Date {
    guard date > now else {
      throw CommandFailure.usage(
        "\"\(text)\" has passed, so nothing was changed. Give a later time.")
    }
    guard date.timeIntervalSince(now) <= daysMax * 86_400 else {
      throw CommandFailure.usage(
        "\"\(text)\" is more than a year ahead, so nothing was changed. Give an earlier time.")
    }
    return date
  }

  private static func numbers(of text: Substring, by separator: Character) -> [Int]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      part.count <= 4 && part.allSatisfy { $0.isASCII && $0.isNumber } ? Int(part) : nil
    }
    return numbers.count == parts.count ? numbers : nil
  }

  private static func unreadable(_ text: String) -> CommandFailure {
    .usage(
      "\"\(text)\" is not a time. Write a time of day (02:00), a date and a time (2026-12-01 02:00), or a "
        + "time with its zone (2026-12-01T02:00:00Z).")
  }

  private static func unreadable(duration text: String) -> CommandFailure {
    .usage("\"\(text)\" is not a duration. Write numbers with d, h, m or s: 90m, 3h, 1d12h.")
  }
}
