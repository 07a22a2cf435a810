import Basics
import Platform

/// Paths as a user types them.
enum Paths {
  /// The absolute path, with `.` and `..` resolved against the working directory.
  static func absolute(_ path: String) -> String {
    let whole =
      path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    var parts: [Substring] = []
    for part in whole.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// `--data` for a data directory that is not the default one, also for a process with a different
  /// environment.
  static func dataOption(_ directory: String, _ variables: [String: String]) -> [String] {
    let usual = DataPath.device.resolve(option: nil, environment: variables)
    return usual.map(absolute) == directory && variables["COSPOOL_DATA"] == nil
      ? [] : ["--data", directory]
  }

  /// The target of a path, with links resolved.
  static func resolved(_ path: String) -> String {
    URL(fileURLWithPath: absolute(path)).resolvingSymlinksInPath().path(percentEncoded: false)
  }

  /// A project in the form that sessions have: a path relative to this folder becomes absolute, for
  /// other devices and later folders. A plain name, and a path that begins with `~`, stay as they
  /// are.
  static func project(_ path: String) -> String {
    let isRelative =
      path == "." || path == ".." || path.contains("/") && path.first != "/" && path.first != "~"
    return isRelative ? absolute(path) : path
  }
}
