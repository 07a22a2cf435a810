import Foundation

/// The processor time of another process, as the operating system counts it: /proc/PID/stat.
enum ProcessorTime {
  /// The seconds that it has used, to the hundredth: all its threads together, including ended
  /// ones.
  static func seconds(of process: pid_t) throws -> Double {
    // The command's name is in parentheses and may contain anything; the rest is fixed.
    let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
    else { throw BenchFailure("the processor time of process \(process) cannot be read") }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
