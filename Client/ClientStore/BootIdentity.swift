#if canImport(Darwin)
  import Darwin
#endif

/// The machine's run since it was started: whoever finds another one knows that everything is gone
/// that the disk did not have.
package enum BootIdentity {
  /// A UUID that the kernel draws at its start; nil where the platform hides it.
  ///
  /// Sources: Linux, `random(4)`, `/proc/sys/kernel/random/boot_id`; Apple, `sysctl kern.bootsessionuuid`.
  package static let current: String? = read()

  #if canImport(Darwin)
    private static func read() -> String? {
      var bytes = [UInt8](repeating: 0, count: 64)
      var count = bytes.count
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else { return nil }
      let text = String(decoding: bytes.prefix(count).prefix { $0 != 0 }, as: UTF8.self)
      return text.isEmpty ? nil : text
    }
  #else
    private static func read() -> String? {
      guard let line = try? FileAccess.read("/proc/sys/kernel/random/boot_id") else { return nil }
      let text = String(line.prefix { !$0.isWhitespace })
      return text.isEmpty ? nil : text
    }
  #endif
}
