#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Whether the file system has enough free space for new data.
///
/// The reserve lets SQLite tidy up, snapshots shorten logs and the operator's commands work. All
/// stored data stays readable.
package struct FreeSpace: Sendable {
  /// The free bytes, and those of the whole file system; nil if they are unknown.
  private let measure: @Sendable () -> (left: UInt64, whole: UInt64)?

  package init(measure: @escaping @Sendable () -> (left: UInt64, whole: UInt64)?) {
    self.measure = measure
  }

  /// The free space of the file system that holds a directory.
  package init(of directory: String) {
    self.init {
      var status = statvfs()
      guard statvfs(directory, &status) == 0 else { return nil }
      let block = UInt64(status.f_frsize)
      return (UInt64(status.f_bavail) * block, UInt64(status.f_blocks) * block)
    }
  }

  /// The free bytes; nil if they are unknown.
  package var bytesLeft: UInt64? { measure()?.left }

  /// Whether less than a twentieth and less than 512 MiB are free.
  package var isScarce: Bool {
    guard let (left, whole) = measure() else { return false }
    return left < min(whole / 20, 512 << 20)
  }
}
