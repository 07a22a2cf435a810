import Foundation

/// The memory of this process, as the operating system counts it: resident pages of
/// /proc/self/statm.
enum ResidentMemory {
  /// How much the process grows while `body` makes its value, before the value is freed.
  ///
  /// - Returns: bytes; nil if the system does not report them.
  static func grown<Value>(_ body: () throws -> Value) rethrows -> Double? {
    giveBackFreed()
    guard let before = resident else { return nil }
    let value = try body()
    giveBackFreed()
    let after = resident
    return withExtendedLifetime(value) { after.map { $0 - before } }
  }

  private static var resident: Double? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
    else { return nil }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Freed memory that is kept for later would hide growth.
  private static func giveBackFreed() {
    #if canImport(Glibc)
      typealias Trim = @convention(c) (Int) -> Int32
      guard let symbol = dlsym(nil, "malloc_trim") else { return }
      // The type is the one that malloc_trim(3) documents.
      _ = unsafeBitCast(symbol, to: Trim.self)(0)
    #endif
  }
}
