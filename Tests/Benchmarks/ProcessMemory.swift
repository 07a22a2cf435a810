import Foundation

/// The memory of another process, as Linux counts it (proc(5)).
enum ProcessMemory {
  /// Bytes of a field of its status, like `VmRSS`.
  static func bytes(_ field: String, of process: pid_t) throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(field):") }
    let words = line?.split(whereSeparator: \.isWhitespace) ?? []
    guard words.count > 1, let kibibytes = Double(words[1]) else {
      throw BenchFailure("\(field) of process \(process) cannot be read")
    }
    return kibibytes * 1_024
  }
}
