#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The unit under which a person's systemd runs the daemon; systemd.unit(5), systemd.service(5).
struct SystemdUnit: Equatable, Sendable {
  /// The daemon's program, absolute.
  var program: String
  /// The daemon's data directory, absolute.
  var dataDirectory: String
  /// Where the daemon looks for agents: a service has no login shell that would set it.
  var searchPath: String

  static let name = "cospoold.service"

  /// Where a person's own units lie; nil where no home is known.
  static func folder(_ variables: [String: String]) -> String? {
    let configured = variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    let home = variables["HOME"].flatMap { $0.isEmpty ? nil : $0 + "/.config" }
    return (configured ?? home).map { $0 + "/systemd/user" }
  }

  /// The file's text.
  ///
  /// The daemon alone is asked to stop, since it lets its agents end; what is left after it is killed.
  /// A mistake in its arguments (2) stays one however often it is started.
  ///
  /// - Throws: `CommandFailure` where a path holds a control character, which no unit can name.
  func text() throws(CommandFailure) -> String {
    for value in [program, dataDirectory, searchPath]
    where value.utf8.contains(where: { $0 < 32 || $0 == 127 }) {
      throw CommandFailure(
        code: "invalidPath",
        message: "\(value) holds a control character: systemd cannot name it.", exitCode: 2)
    }
    return """
      # Written by "cospool service install", which writes it anew.
      [Unit]
      Description=Cospool: the work queues of coding agents

      [Service]
      Type=exec
      ExecStart=\(Self.word(program)) --data \(Self.word(dataDirectory))
      Environment=\(Self.quoted("PATH=" + searchPath))
      Restart=on-failure
      RestartSec=2
      RestartPreventExitStatus=2
      KillMode=mixed

      [Install]
      WantedBy=default.target

      """
  }

  /// A word of a command, in which `$` begins a variable.
  private static func word(_ text: String) -> String {
    quoted(text.split(separator: "$", omittingEmptySubsequences: false).joined(separator: "$$"))
  }

  /// In quotes, with what systemd reads as something else doubled or escaped.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for character in text {
      switch character {
      case "\\", "\"": quoted += "\\\(character)"
      case "%": quoted += "%%"
      default: quoted.append(character)
      }
    }
    return quoted + "\""
  }
}
