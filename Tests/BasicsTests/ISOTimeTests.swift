import Basics
import Foundation
import Testing

@Suite struct ISOTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
    (-999, "1969-12-31T23:59:59.001Z"), (-1_000, "1969-12-31T23:59:59.000Z"),
    (1_772_357_400_125, "2026-03-01T09:30:00.125Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
  ])
  func timesAreWritten(milliseconds: Int64, text: String) {
    #expect(ISOTime.text(milliseconds: milliseconds) == text)
  }

  @Test func wholeSecondsAreShort() {
    #expect(ISOTime.shortText(milliseconds: 1_000) == "1970-01-01T00:00:01Z")
    #expect(ISOTime.shortText(milliseconds: 1_001) == "1970-01-01T00:00:01.001Z")
    #expect(ISOTime.shortText(milliseconds: -5) == "1969-12-31T23:59:59.995Z")
  }

  /// Since 1600: for earlier dates, Foundation uses the Julian calendar.
  @Test func everyDayIsFoundationsDay() {
    for day in stride(from: Int64(-135_000), through: 400_000, by: 37) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let expected = date.formatted(Date.ISO8601FormatStyle())
      #expect(ISOTime.shortText(milliseconds: day * 86_400_000) == expected)
    }
  }

  @Test func noTimeTraps() {
    for time in [Int64.min, .min + 1, -1_000_000_000_000_000, .max] {
      #expect(!ISOTime.text(milliseconds: time).isEmpty)
    }
  }

  @Test func writtenTimesAreReadAgain() {
    for day in stride(from: Int64(-135_000), through: 400_000, by: 37) {
      let time = day * 86_400_000 + day * 1_234_567 % 86_400_000
      #expect(ISOTime.milliseconds(of: ISOTime.text(milliseconds: time)) == time)
    }
    #expect(ISOTime.milliseconds(of: "2026-03-01T09:30:00Z") == 1_772_357_400_000)
    #expect(ISOTime.milliseconds(of: "2026-03-01T09:30:00.1Z") == 1_772_357_400_100)
  }

  @Test(arguments: [
    "", "2026-03-01", "2026-03-01T09:30:00", "2026-02-30T09:30:00Z", "2026-13-01T09:30:00Z",
    "2026-00-01T09:30:00Z", "2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z", "2026-03-01 09:30:00Z",
    "2026-03-01T09:30:00.Z", "2026-03-01T09:30:00.1234Z", "2026-03-01T09:30:00.-1Z",
    "2026-03-01T09:30:00+01:00", "1772357400125", "+026-03-01T09:30:00Z",
  ])
  func anyOtherTextIsNotATime(text: String) {
    #expect(ISOTime.milliseconds(of: text) == nil)
  }
}
