import Foundation

/// The folder that an agent works in. It is never the one in which the daemon happened to be
/// started: an agent that may edit would change the wrong files.
struct ProjectFolder: Hashable, Sendable {
  var path: String

  /// A session's project does not exist on this device; nothing was started.
  struct Missing: Error, Hashable, CustomStringConvertible {
    var project: String

    var description: String {
      let folder = "the project folder \(project)"
      let advice =
        "Choose another device as host (cospool session host), or create the folder there "
        + "and retry."
      guard project.hasPrefix("/") || project.hasPrefix("~") else {
        return "\(folder) does not begin with / or ~, so the daemon cannot find it. \(advice)"
      }
      return "\(folder) is not on this device. \(advice)"
    }
  }

  /// A session's project is outside of the folders that this device's user allows.
  struct NotAllowed: Error, Hashable, CustomStringConvertible {
    var path: String

    var description: String {
      "the project folder \(path) is not in this device's projectRoots, so nothing was "
        + "started. To allow it: cospool config set projectRoots FOLDER[:FOLDER…], then retry."
    }
  }

  /// - Parameter roots: with `~` for the home; a folder without a project is always allowed.
  /// - Throws: `NotAllowed` if roots are named and the folder, with its links resolved, is in none
  ///   of them.
  static func check(_ path: String, isIn roots: [String], home: String) throws(NotAllowed) {
    guard !roots.isEmpty else { return }
    let folder = resolved(path, home: home)
    for root in roots {
      let root = resolved(root, home: home)
      if folder == root || folder.hasPrefix(root.hasSuffix("/") ? root : root + "/") { return }
    }
    throw NotAllowed(path: path)
  }

  private static func resolved(_ path: String, home: String) -> String {
    let whole = path == "~" || path.hasPrefix("~/") ? home + path.dropFirst() : path
    return URL(fileURLWithPath: whole).resolvingSymlinksInPath().standardizedFileURL
      .path(percentEncoded: false)
  }

  /// - Parameters:
  ///   - project: the session's or the message's; nil or empty if neither names one.
  ///   - otherwise: the user's home, for those without a project.
  /// - Throws: `Missing` if a project is named and is not a folder here.
  static func here(_ project: String?, otherwise: String) throws(Missing) -> ProjectFolder {
    guard let project, !project.isEmpty else { return ProjectFolder(path: otherwise) }
    // From HOME, like shells; Foundation would use the table of users.
    let path =
      project == "~" || project.hasPrefix("~/")
      ? otherwise + project.dropFirst() : (project as NSString).expandingTildeInPath
    guard path.hasPrefix("/"), isFolder(path) else { throw Missing(project: project) }
    return ProjectFolder(path: path)
  }

  /// The folder for work without a project: the user's home folder, as after a login.
  ///
  /// - Parameter dataDirectory: for a daemon without a home.
  static func home(_ environment: [String: String], dataDirectory: String) -> String {
    guard let home = environment["HOME"], home.hasPrefix("/"), isFolder(home) else {
      return dataDirectory
    }
    return home
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      && isFolder.boolValue
  }
}
