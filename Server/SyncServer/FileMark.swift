import Foundation

/// Distinguishes versions of a file: each write makes a new file, or changes its time.
struct FileMark: Hashable, Sendable {
  var number: UInt64
  var modified: Int64
  var size: UInt64

  /// The file as it is now; nil if there is none.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    number = UInt64(status.st_ino)
    // A wrong clock's time after the year 2262 overflows; it still distinguishes the versions.
    modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    size = UInt64(clamping: status.st_size)
  }
}
