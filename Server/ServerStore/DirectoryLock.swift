import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Keeps a second server process off a data directory, or a second backup off a folder of backups, for
/// as long as it lives.
///
/// The lock is the kernel's and goes with the process, however that ends; the file stays.
package final class DirectoryLock: Sendable {
  private let descriptor: Mutex<Int32?>

  /// Takes the lock at once or not at all.
  ///
  /// - Parameter name: the file of the lock; the server's own where none is given.
  package init(
    directory: String, name: String = "server.lock"
  ) throws(StoreOpeningError) {
    let path = directory + "/" + name
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard opened >= 0 else {
      throw .unavailable(path: path, reason: String(cString: strerror(errno)))
    }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      close(opened)
      if reason == EWOULDBLOCK { throw .locked(path: directory) }
      throw .unavailable(path: path, reason: String(cString: strerror(reason)))
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
