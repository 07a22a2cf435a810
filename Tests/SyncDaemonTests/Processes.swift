import AgentFormats
import Foundation
import Testing

/// Processes that are observed from outside.
enum Processes {
  /// Waits until it has ended.
  static func expectGone(_ process: pid_t) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while isAlive(process) {
      guard ContinuousClock.now < deadline else {
        Issue.record("process \(process) still runs")
        return
      }
      await Task.yield()
    }
  }

  /// A zombie that its new parent has not reaped yet counts as ended.
  static func isAlive(_ process: pid_t) -> Bool {
    let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.flatMap(ProcessStat.init).map { !$0.isZombie } ?? false
  }
}
