package import ProcessResources

extension DirectoryLock {
  package static let serverName = "server.lock"

  /// Keeps a second server off a data directory, or a second backup off a folder of backups.
  ///
  /// - Parameter name: the file of the lock; the server's own where none is given.
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
}
