/// Why the store could not be opened.
package enum StoreOpeningError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file is damaged; it was moved to the second path, nil if it could not be moved.
  case corrupt(path: String, keptAt: String?, reason: String)
  /// A damaged file was moved to the second path, and there is no new one.
  case setAside(path: String, keptAt: String)
  /// The file was written by a newer version and was not touched.
  case newer(path: String)
  /// No space is left.
  case full(path: String)
  /// The directory or file cannot be read or written.
  case unavailable(path: String, reason: String)
  /// Another process serves this directory.
  case locked(path: String)
  /// A backup is being restored, or a restore was interrupted.
  case restoring(path: String)
  /// There is no store at this place yet.
  case absent(path: String)

  /// How devices restore a workspace: they accept no code of another one.
  private static let recovery =
    "devices send what they have after you pair them with the id that `cospool status` shows "
    + "on them: cospool-server pair --workspace-id ID"

  package var description: String {
    switch self {
    case .corrupt(let path, let keptAt?, let reason):
      "The database \(path) is damaged (\(reason)). It was kept as \(keptAt). Restore a backup, "
        + "or move that file and its -wal away and start again with an empty database: \(Self.recovery)."
    case .corrupt(let path, nil, let reason):
      "The database \(path) is damaged (\(reason)). It was left in place. The server sets it "
        + "aside at its next start, if it can. If it cannot, move it away with \(path)-wal and "
        + "\(path)-shm."
    case .setAside(let path, let keptAt):
      "The database \(path) was damaged and is kept as \(keptAt); there is no other "
        + "database. Restore a backup: cospool-server backup restore. Or move that file and its "
        + "-wal away to start with an empty database: \(Self.recovery)."
    case .newer(let path):
      "The database \(path) was written by a newer version of cospool-server. Update this one; "
        + "nothing was changed."
    case .full(let path):
      "The disk of the database \(path) is full. Free space and try again."
    case .unavailable(let path, let reason):
      "The database \(path) cannot be used: \(reason)."
    case .locked(let path):
      "Another cospool-server already serves \(path). Stop it, or choose another --data directory."
    case .restoring(let path):
      "A restore into \(path) did not finish. Run it again: cospool-server backup restore. "
        + "The previous data is in a folder before-restore-…"
    case .absent(let path):
      "There is no server data at \(path). Start the server first: cospool-server serve"
    }
  }
}
