import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Excludes other processes from a directory for as long as this object exists.
///
/// The kernel holds the lock and releases it when the process ends in any way. The file stays.
package final class DirectoryLock: Sendable {
  /// Why the lock could not be taken.
  package enum Problem: Error, Hashable, Sendable {
    /// Another process holds it.
    case held
    /// The file cannot be opened or locked.
    case unavailable(reason: String, isFull: Bool)

    init(code: Int32) {
      self = .unavailable(reason: String(cString: strerror(code)), isFull: code == ENOSPC)
    }
  }

  private let descriptor: Mutex<Int32?>

  /// Takes the lock, or throws at once.
  ///
  /// - Parameter path: the lock file, created if it does not exist, readable only by its owner.
  package init(file path: String) throws(Problem) {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard opened >= 0 else { throw Problem(code: errno) }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      close(opened)
      throw reason == EWOULDBLOCK ? .held : Problem(code: reason)
    }
    descriptor = Mutex(opened)
  }

  /// Releases the lock for the next process; calling it again does nothing.
  package func release() {
    let held = descriptor.withLock { descriptor in
      defer { descriptor = nil }
      return descriptor
    }
    guard let held else { return }
    // Closing alone is not enough while a child that will become another program also has it.
    flock(held, LOCK_UN)
    close(held)
  }

  deinit {
    release()
  }
}

extension DirectoryLock {
  /// The process that holds the lock of a file, as Linux shows it; nil if none does, or if it is
  /// not visible from here, for example in another container.
  ///
  /// - Complexity: O(locks of the system).
  package static func holder(ofFile path: String) -> Int32? {
    var status = stat()
    guard stat(path, &status) == 0, let file = fopen("/proc/locks", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      // 1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF
      let words = line.prefix { $0 != 0 }.split { $0 == CChar(bitPattern: 0x20) }
        .map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
      guard words.count > 5, words[1] == "FLOCK", let id = Int32(words[4]), id > 0,
        words[5].split(separator: ":").last == "\(status.st_ino)"
      else { continue }
      return id
    }
    return nil
  }
}
