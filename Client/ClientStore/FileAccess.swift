package import ClientCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// File system calls that need more than a path and bytes.
package enum FileAccess {
  package static func exists(_ path: String) -> Bool {
    access(path, F_OK) == 0
  }

  static func size(_ path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  static func rename(_ path: String, to target: String) throws(StoreError) {
    guard renameFile(path, target) == 0 else { throw failure("rename", path) }
  }

  /// Creates a file that only its owner may read, or restricts an existing one to its owner. An
  /// existing file is not opened: closing it would release this process's locks on it.
  static func makePrivate(_ path: String) throws(StoreError) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 {
      close(file)
    } else if errno != EEXIST {
      throw failure("create", path)
    } else if chmod(path, 0o600) != 0 {
      throw failure("chmod", path)
    }
  }

  /// Reads a small file; nil if there is none.
  package static func read(_ path: String) throws(StoreError) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 {
      if errno == ENOENT { return nil }
      throw failure("open", path)
    }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = readFile(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read", path) }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(contentsOf: buffer.prefix(count))
    }
  }

  /// Replaces a file in one step, durably, readable only by its owner.
  package static func replace(_ path: String, with text: String) throws(StoreError) {
    try replace(path, with: Array(text.utf8))
  }

  /// Replaces a file in one step, durably, readable only by its owner.
  package static func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
    let fresh = path + ".new"
    unlink(fresh)
    let file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", fresh) }
    do throws(StoreError) {
      defer { close(file) }
      try write(bytes, to: file, path: fresh)
      try synchronize(file, path: fresh)
    } catch {
      // On a full disk, a partial file would take space that others need.
      unlink(fresh)
      throw error
    }
    try rename(fresh, to: path)
    try synchronizeDirectory(of: path)
  }

  private static func synchronizeDirectory(of path: String) throws(StoreError) {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let handle = open(directory.isEmpty ? "/" : directory, O_RDONLY | O_CLOEXEC)
    guard handle >= 0 else { throw failure("open", directory) }
    defer { close(handle) }
    try synchronize(handle, path: directory)
  }

  /// Waits until the disk has the data, beyond the disk's own memory if the platform can: fsync(2)
  /// of macOS, "F_FULLFSYNC".
  private static func synchronize(_ file: Int32, path: String) throws(StoreError) {
    #if canImport(Darwin)
      // File systems without it use fsync.
      if fcntl(file, F_FULLFSYNC) == 0 { return }
    #endif
    guard fsync(file) == 0 else { throw failure("fsync", path) }
  }

  private static func write(
    _ bytes: [UInt8], to file: Int32, path: String
  ) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        pwrite(file, $0.baseAddress, $0.count, off_t(done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure("write", path) }
      done += count
    }
  }

  private static func failure(_ what: String, _ path: String) -> StoreError {
    let code = errno
    let message = "\(what) \(path): \(String(cString: strerror(code)))"
    return StoreError(
      code: code == ENOSPC || code == EDQUOT ? .full : .failed, message: message)
  }
}

private func renameFile(_ path: String, _ target: String) -> Int32 { rename(path, target) }

private func readFile(_ file: Int32, _ buffer: inout [UInt8], _ count: Int) -> Int {
  read(file, &buffer, count)
}
