import ClientCore
import ClientStore
import Foundation
import QueueModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The lock on a data directory: one process at a time.
///
/// The lock is the kernel's and ends with the process, however that ends.
final class LockedDirectory: Sendable {
  let path: String
  private let lock: Mutex<Int32?>

  /// Makes the directory, readable by its owner alone, where there is none, and takes its lock.
  init(path: String) throws(ClientError) {
    self.path = path
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .storage(message: "cannot make \(path): \(error.localizedDescription)", isFull: false)
    }
    let file = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw .storage(
        message: "cannot open \(path)/lock: \(String(cString: strerror(errno)))",
        isFull: errno == ENOSPC)
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      throw .locked(path: path)
    }
    lock = Mutex(file)
  }

  /// Lets others in; idempotent.
  func release() {
    let file = lock.withLock { file in
      defer { file = nil }
      return file
    }
    guard let file else { return }
    // Closing alone is not enough while a child that is about to become another program has it, too.
    flock(file, LOCK_UN)
    close(file)
  }

  deinit {
    release()
  }
}

extension ClientError {
  init(_ error: StoreError) {
    self = .storage(message: error.message, isFull: error.code == .full)
  }

  init(_ fault: Replica.Fault) {
    switch fault {
    case .queue(let error): self = .queue(error)
    case .store(let error):
      // A change that cannot be saved is the queue's error; `storage` is the data directory's.
      self = .queue(
        .persistenceFailed(
          underlying: PersistenceFault(error.message, isDiskFull: error.code == .full)))
    case .merge(let error): self = .storage(message: "\(error)", isFull: false)
    case .history(let error): self = .history(error)
    case .outOfOrder:
      self = .storage(message: "operations name some that are not here", isFull: false)
    }
  }
}
