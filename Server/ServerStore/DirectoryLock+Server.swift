package import ProcessResources

extension DirectoryLock {
  package static let serverName = "server.lock"

  /// Prevents a second server in a data directory, or a second backup in a folder of backups.
  ///
  /// - Parameter name: the file of the lock; by default the server's own.
  package convenience init(
    directory: String, name: String = DirectoryLock.serverName
  ) throws(StoreOpeningError) {
    let path = directory + "/" + name
    do {
      try self.init(file: path)
    } catch {
      switch error {
      case .held: throw .locked(path: directory)
      case .unavailable(let reason, _): throw .unavailable(path: path, reason: reason)
      }
    }
  }

  /// Takes a server's lock, and retries for a moment: a check for a running server holds it that
  /// long.
  ///
  /// - Parameter pause: between two attempts, of which there are ten.
  package static func serving(
    _ directory: String,
    pause: () async -> Void = { try? await Task.sleep(for: .milliseconds(20)) }
  ) async throws(StoreOpeningError) -> DirectoryLock {
    for _ in 1..<10 {
      do {
        return try DirectoryLock(directory: directory)
      } catch {
        guard case .locked = error else { throw error }
        await pause()
      }
    }
    return try DirectoryLock(directory: directory)
  }
}
