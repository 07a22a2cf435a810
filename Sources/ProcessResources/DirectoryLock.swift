import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Keeps a second process off a directory for as long as it lives.
///
/// The lock is the kernel's and goes with the process, however that ends; the file stays.
package final class DirectoryLock: Sendable {
  /// Why the lock could not be taken.
  package enum Problem: Error, Hashable, Sendable {
    /// Somebody has it.
    case held
    /// The file cannot be opened or locked.
    case unavailable(reason: String, isFull: Bool)

    init(code: Int32) {
      self = .unavailable(reason: String(cString: strerror(code)), isFull: code == ENOSPC)
    }
  }

  private let descriptor: Mutex<Int32?>

  /// Takes the lock at once or not at all.
  ///
  /// - Parameter path: the file of the lock, which is made where there is none, readable by its owner
  ///   alone.
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

  /// Lets the next process in; calling it again does nothing.
  package func release() {
    let held = descriptor.withLock { descriptor in
      defer { descriptor = nil }
      return descriptor
    }
    guard let held else { return }
    // Closing alone is not enough while a child that is about to become another program has it, too.
    flock(held, LOCK_UN)
    close(held)
  }

  deinit {
    release()
  }
}
