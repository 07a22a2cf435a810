import Foundation

/// Where a device's data lie when nobody says.
enum DataDirectory {
  /// The flag, else `COSPOOL_DATA`, else the XDG data directory; nil without any of them and HOME.
  static func path(flag: String?, environment: [String: String]) -> String? {
    let named = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let flag, !flag.isEmpty { return trimmed(flag) }
    if let data = named("COSPOOL_DATA") { return trimmed(data) }
    // The XDG specification says that relative paths in its variables are to be ignored.
    if let base = named("XDG_DATA_HOME"), base.hasPrefix("/") { return trimmed(base) + "/cospool" }
    return named("HOME").map { trimmed($0) + "/.local/share/cospool" }
  }

  private static func trimmed(_ path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return String(path)
  }
}
