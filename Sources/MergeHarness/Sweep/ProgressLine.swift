import Foundation

/// Shows the progress of a sweep on standard error: in place on a terminal, otherwise a line at
/// intervals.
struct ProgressLine {
  /// Seconds between two lines without a terminal.
  static let lineSeconds = 10.0
  static let terminalSeconds = 0.25

  private let isTerminal: Bool
  private let total: UInt64?
  private let secondsMax: Double?
  private var lastShown = -Double.infinity
  private var isLineOpen = false

  init(total: UInt64?, secondsMax: Double?, isTerminal: Bool) {
    self.total = total
    self.secondsMax = secondsMax
    self.isTerminal = isTerminal
  }

  mutating func show(_ result: SweepResult) {
    let interval = isTerminal ? Self.terminalSeconds : Self.lineSeconds
    if lastShown == -Double.infinity, !isTerminal { lastShown = 0 }
    guard result.seconds - lastShown >= interval else { return }
    lastShown = result.seconds
    let line = text(for: result)
    if isTerminal {
      Console.overwrite(line, on: .standardError)
      isLineOpen = true
    } else {
      Console.write(line, to: .standardError)
    }
  }

  /// Clears the line, so that other lines can be written.
  mutating func clear() {
    guard isLineOpen else { return }
    Console.overwrite("", on: .standardError)
    isLineOpen = false
  }

  func text(for result: SweepResult) -> String {
    let rate = result.seconds > 0 ? Double(result.seeds) / result.seconds : 0
    var left = Double.infinity
    if let total, rate > 0 { left = Double(total - UInt64(result.seeds)) / rate }
    if let secondsMax { left = min(left, max(0, secondsMax - result.seconds)) }
    let goal = total.map { " of \($0)" } ?? ""
    return "\(result.seeds)\(goal) seeds, \(Console.decimal(rate)) a second, "
      + "\(Console.duration(left)) left, \(result.failures.count) violations"
  }
}
