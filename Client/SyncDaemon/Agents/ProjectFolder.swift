import Foundation

/// The folder that an agent works in. Never the one that the daemon happened to be started in: an
/// agent that may edit would change what nobody meant.
struct ProjectFolder: Hashable, Sendable {
  var path: String

  /// A session's project is not on this device; nothing was started.
  struct Missing: Error, Hashable, CustomStringConvertible {
    var project: String

    var description: String {
      let folder = "the project folder \(project)"
      let advice = "Make another device the host (cospool session host), or put it there and retry."
      guard project.hasPrefix("/") || project.hasPrefix("~") else {
        return "\(folder) is not named from / or ~ on, so nobody knows where it is. \(advice)"
      }
      return "\(folder) is not on this device. \(advice)"
    }
  }

  /// - Parameters:
  ///   - project: the session's or the message's; nil or empty where neither names one.
  ///   - otherwise: the person's home, for those without one.
  /// - Throws: `Missing` where a project is named and is no folder here.
  static func here(_ project: String?, otherwise: String) throws(Missing) -> ProjectFolder {
    guard let project, !project.isEmpty else { return ProjectFolder(path: otherwise) }
    // By HOME, as shells have it; Foundation asks the table of users.
    let path =
      project == "~" || project.hasPrefix("~/")
      ? otherwise + project.dropFirst() : (project as NSString).expandingTildeInPath
    guard path.hasPrefix("/"), isFolder(path) else { throw Missing(project: project) }
    return ProjectFolder(path: path)
  }

  /// Where what has no project works: the person's home folder, as a login would begin there.
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
