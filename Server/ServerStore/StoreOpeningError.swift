/// Why the store could not be opened.
package enum StoreOpeningError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file is damaged; it was set aside under the second path, nil where it was left in place.
  case corrupt(path: String, keptAt: String?, reason: String)
  /// A damaged file was set aside under the second path, and none stands in its place.
  case setAside(path: String, keptAt: String)
  /// The file was written by a newer version and was not touched.
  case newer(path: String)
  /// No space is left.
  case full(path: String)
  /// The directory or file cannot be read or written.
  case unavailable(path: String, reason: String)
  /// Another process serves this directory.
  case locked(path: String)
  /// A backup is being put in its place, or the process that did so ended in the middle.
  case restoring(path: String)
  /// There is no store at this place yet.
  case absent(path: String)

  /// How devices bring back a workspace: they take no code of another one.
  private static let anew =
    "devices bring back what they have once they are paired with the id that `cospool status` says there, "
    + "cospool-server pair --workspace-id ID"

  package var description: String {
    switch self {
    case .corrupt(let path, let keptAt?, let reason):
      "The database \(path) is damaged (\(reason)). It was kept as \(keptAt). Restore a backup, "
        + "or move that file and its -wal away and start again with an empty database: \(Self.anew)."
    case .corrupt(let path, nil, let reason):
      "The database \(path) is damaged (\(reason)). It was left in place. A server that starts sets "
        + "it aside where it can; where not, move it away with \(path)-wal and \(path)-shm."
    case .setAside(let path, let keptAt):
      "The database \(path) was damaged and is kept as \(keptAt); none stands in its place. Restore a "
        + "backup: cospool-server backup restore. Or move that file and its -wal away, to begin with an empty "
        + "database: \(Self.anew)."
    case .newer(let path):
      "The database \(path) was written by a newer version of cospool-server. Update this one; "
        + "nothing was changed."
    case .full(let path):
      "No space is left for the database \(path). Free some and try again."
    case .unavailable(let path, let reason):
      "The database \(path) cannot be used: \(reason)."
    case .locked(let path):
      "Another cospool-server serves \(path) already. Stop it, or choose another --data directory."
    case .restoring(let path):
      "A restore into \(path) did not end. Say it again: cospool-server backup restore. What was there "
        + "before is in a folder before-restore-…"
    case .absent(let path):
      "There is no server data at \(path). Start the server or pair a device first."
    }
  }
}
