/// The folder of a program's data, by its options and environment.
package struct DataPath: Sendable {
  /// The folder of a device: for the daemon, and for the command line that connects to it.
  package static let device = DataPath(variable: "COSPOOL_DATA", folder: "cospool")
  /// The server's.
  package static let server = DataPath(variable: "COSPOOL_SERVER_DATA", folder: "cospool-server")

  /// Why an empty option is refused: it may come from a variable that is not set.
  package static let empty = "--data is empty. Name a directory, or leave --data out."

  private let variable: String
  private let folder: String

  /// The option, else the variable, else the folder in the XDG data directory, else in
  /// `~/.local/share`; nil if there is no HOME either.
  ///
  /// Relative paths in `XDG_DATA_HOME` are ignored
  /// (<https://specifications.freedesktop.org/basedir-spec/latest/>).
  ///
  /// - Parameter home: the account's home, used if there is no HOME.
  package func resolve(
    option: String?, environment: [String: String], home: String? = nil
  ) -> String? {
    func named(_ name: String) -> String? {
      environment[name].flatMap { $0.isEmpty ? nil : DataPath.trimmed($0) }
    }
    if let option, !option.isEmpty { return DataPath.trimmed(option) }
    if let data = named(variable) { return data }
    if let base = named("XDG_DATA_HOME"), base.hasPrefix("/") { return "\(base)/\(folder)" }
    return (named("HOME") ?? home).map { "\($0)/.local/share/\(folder)" }
  }

  private static func trimmed(_ path: String) -> String {
    var path = path[...]
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    return String(path)
  }
}
