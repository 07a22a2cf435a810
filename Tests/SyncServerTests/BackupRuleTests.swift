import Foundation
import Testing

@testable import SyncServer

@Suite struct BackupRuleTests {
  private static func milliseconds(_ text: String) throws -> Int64 {
    Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970 * 1_000)
  }

  @Test func ofADayTheLastIsKept() throws {
    let times = try [
      "2026-11-25T03:00:00Z", "2026-11-25T21:00:00Z", "2026-11-24T23:59:59Z",
      "2026-11-24T00:00:00Z",
    ].map(BackupRuleTests.milliseconds)
    let reasons = BackupRule(days: 7, weeks: 0, months: 0).reasons(for: times)
    #expect(reasons == [[], ["latest", "day"], ["day"], []])
  }

  @Test func weeksBeginOnMonday() throws {
    // 22 November 2026 is a Sunday.
    let times = try ["2026-11-22T12:00:00Z", "2026-11-23T12:00:00Z", "2026-11-29T12:00:00Z"]
      .map(BackupRuleTests.milliseconds)
    #expect(
      BackupRule(days: 0, weeks: 4, months: 0).reasons(for: times)
        == [["week"], [], ["latest", "week"]])
  }

  @Test func monthsAreThoseOfTheCalendar() throws {
    let times = try [
      "2026-09-30T23:59:59Z", "2026-10-01T00:00:00Z", "2026-10-31T12:00:00Z",
      "2026-11-01T00:00:00Z",
    ].map(BackupRuleTests.milliseconds)
    #expect(
      BackupRule(days: 0, weeks: 0, months: 2).reasons(for: times)
        == [[], [], ["month"], ["latest", "month"]])
  }

  /// One a day for a year: 7 days, 4 weeks and 6 months leave no more than 17, and none of the last week
  /// goes.
  @Test func aYearOfBackupsLeavesAFew() throws {
    let first = try BackupRuleTests.milliseconds("2026-01-01T03:00:00Z")
    var kept: [Int64] = []
    for day in 0..<365 {
      let now = first + Int64(day) * 86_400_000
      kept.append(now)
      let reasons = BackupRule.standard.reasons(for: kept)
      kept = zip(kept, reasons).filter { !$1.isEmpty }.map(\.0)
      #expect(kept.count <= 17)
      #expect(kept.suffix(7).allSatisfy { now - $0 < 7 * 86_400_000 })
    }
    let oldest = try #require(kept.first)
    #expect(oldest <= first + 215 * 86_400_000, "six months back")
    #expect(kept.count >= 13)
  }

  @Test func theLatestStaysWhateverIsAskedFor() {
    let rule = BackupRule(days: 0, weeks: 0, months: 0)
    #expect(rule.reasons(for: [5, 9, 7]) == [[], ["latest"], []])
    #expect(rule.reasons(for: []) == [])
    // Before 1970, of a clock that was wrong.
    #expect(BackupRule.standard.reasons(for: [-1])[0].count == 4)
  }
}
