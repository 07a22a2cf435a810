import Foundation

/// Times of day as a user at this device reads them.
enum LocalTime {
  /// `16:42`, or, if that is not within the last day, `2026-11-28 16:42`.
  static func words(_ milliseconds: Int64, now: Date = .now) -> String {
    var time = time_t(milliseconds / 1_000)
    var local = tm()
    localtime_r(&time, &local)
    func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : String(value) }
    let clock = "\(padded(local.tm_hour)):\(padded(local.tm_min))"
    let age = now.timeIntervalSince1970 - Double(milliseconds) / 1_000
    guard !(0..<86_400).contains(age) else { return clock }
    return "\(local.tm_year + 1_900)-\(padded(local.tm_mon + 1))-\(padded(local.tm_mday)) \(clock)"
  }
}
