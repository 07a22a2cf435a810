#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Creates folders that only their owner can access.
package enum PrivateFolder {
  /// The folder that the system could not create, and the reason.
  package struct Problem: Error, Hashable, Sendable {
    package var path: String
    /// The system's error number; errno(3).
    package var number: Int32

    package var reason: String { String(cString: strerror(number)) }
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
  }

  /// Creates a folder, and missing folders above it. Existing folders keep their permissions.
  ///
  /// - Throws: `Problem`; some folders above it may exist by then.
  package static func make(_ path: String) throws(Problem) {
    guard !isFolder(path), mkdir(path, 0o700) != 0 else { return }
    var number = errno
    if number == ENOENT, let parent = parent(of: path) {
      try make(parent)
      number = mkdir(path, 0o700) == 0 ? 0 : errno
    }
    // Another process may have created it meanwhile.
    guard number != 0, !isFolder(path) else { return }
    throw Problem(path: path, number: number)
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The path without its last name; nil if it has only one.
  private static func parent(of path: String) -> String? {
    var rest = path[...]
    while rest.last == "/" { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/"), slash != rest.startIndex else { return nil }
    return String(rest[..<slash])
  }
}
