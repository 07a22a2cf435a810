import ClientCore
import Foundation
import ProcessResources

/// The data directory of one process. Creates the directory if there is none, readable only by its
/// owner, and holds its lock.
package final class LockedDirectory: Sendable {
  package let path: String
  private let lock: DirectoryLock

  /// Takes the lock, or fails at once.
  ///
  /// - Throws: `.locked`, `.storage`.
  package init(path: String) throws(ClientStore.OpenError) {
    self.path = path
    do {
      try PrivateFolder.make(path)
    } catch {
      throw .storage(
        StoreError(
          code: error.isFull ? .full : .failed,
          message:
            "cannot make \(error.path): \(error.reason). Choose a data directory in which this user may write"
        ))
    }
    do {
      lock = try DirectoryLock(file: path + "/lock")
    } catch {
      switch error {
      case .held: throw .locked(path: path)
      case .unavailable(let reason, let isFull):
        throw .storage(
          StoreError(
            code: isFull ? .full : .failed, message: "cannot open \(path)/lock: \(reason)"))
      }
    }
  }

  /// Releases the lock; idempotent.
  package func release() { lock.release() }
}
