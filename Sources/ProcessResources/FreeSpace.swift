#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Whether the file system has so much left that something new may be written.
///
/// What is left then lets SQLite tidy up, snapshots shorten logs and the operator's commands work; all
/// that is stored can be read.
package struct FreeSpace: Sendable {
  /// Bytes that are left, and of the whole file system; nil where nobody knows.
  private let measure: @Sendable () -> (left: UInt64, whole: UInt64)?

  package init(measure: @escaping @Sendable () -> (left: UInt64, whole: UInt64)?) {
    self.measure = measure
  }

  /// That of the file system which holds a directory.
  package init(of directory: String) {
    self.init {
      var status = statvfs()
      guard statvfs(directory, &status) == 0 else { return nil }
      let block = UInt64(status.f_frsize)
      return (UInt64(status.f_bavail) * block, UInt64(status.f_blocks) * block)
    }
  }

  /// Bytes that are left; nil where nobody knows.
  package var bytesLeft: UInt64? { measure()?.left }

  /// Less than a twentieth is left, and less than 512 MiB.
  package var isScarce: Bool {
    guard let (left, whole) = measure() else { return false }
    return left < min(whole / 20, 512 << 20)
  }
}
