import AgentFormats
import Foundation

/// A process that another program started. Its start time distinguishes it from later ones with its
/// id.
struct AgentProcess: Hashable, Sendable {
  var id: pid_t
  /// In clock ticks since the system's start.
  var start: UInt64

  /// nil if no process here has that start time. Processes in other containers cannot be seen.
  init?(id: Int, start: UInt64) {
    guard let id = pid_t(exactly: id), id > 1 else { return nil }
    self.id = id
    self.start = start
    guard isAlive else { return nil }
  }

  /// Whether it has not ended.
  var isAlive: Bool {
    let line = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
    guard let stat = line.flatMap(ProcessStat.init) else { return false }
    return stat.start == start && !stat.isZombie
  }

  /// The current time in the unit of `start`; 0 if the system does not provide it (proc_uptime(5)).
  static func ticks() -> UInt64 {
    let line = try? String(contentsOfFile: "/proc/uptime", encoding: .utf8)
    let seconds = line?.split(separator: " ").first.flatMap { Double($0) } ?? 0
    return UInt64(exactly: (seconds * Double(sysconf(Int32(_SC_CLK_TCK)))).rounded()) ?? 0
  }
}
