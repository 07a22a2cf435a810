import Basics
import Platform

/// The contents of a path at which a program keeps its own file.
///
/// Links are not followed: the author of a link could direct the advice, or the repair, to any
/// file.
package enum OwnFile: Equatable, Sendable {
  /// Nothing, or nothing that may be examined.
  case absent
  /// A file, and its permissions.
  case file(rights: Int)
  /// Something else, as text.
  case other(what: String)

  package init(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      self = .absent
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .file(rights: Int(status.st_mode & 0o777))
    case S_IFLNK:
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
      self = .other(what: "a symbolic link to \(target ?? "somewhere")")
    case S_IFDIR: self = .other(what: "a folder")
    default: self = .other(what: "a socket, a pipe or a device")
    }
  }
}

extension DoctorFinding {
  /// The finding that something else is at a file's path.
  package static func noFile(_ path: String, but what: String) -> DoctorFinding {
    .error(
      "fileKind", "\(path) is \(what), but should be a file",
      fix:
        "Find out who put it there, and remove it: rm \(Shell.quoted(path)). If it was you, "
        + "put the file itself there.")
  }
}
