import Basics
import Operations
import Platform

/// The unit under which a user's systemd runs the daemon; systemd.unit(5), systemd.service(5).
struct SystemdUnit: Equatable, Sendable {
  /// The daemon's program, absolute.
  var program: String
  /// The daemon's data directory, absolute.
  var dataDirectory: String
  /// The folders in which the daemon looks for agents: a service has no login shell that would set
  /// them.
  var searchPath: String
  /// The variables that name a proxy, for the daemon and its agents.
  var proxyVariables: [String: String] = [:]

  static let name = "cospoold.service"

  /// The data directory in the text of a unit, as it is written there; nil if it names none.
  static func dataWord(in text: String) -> Substring? {
    let line = text.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }
    let option = " --data "
    return line?.firstRange(of: option).flatMap { line?[$0.upperBound...] }
  }

  /// Whether a unit is for a data directory; a unit that names none is for the default one.
  static func isText(_ text: String, of directory: String, _ variables: [String: String]) -> Bool {
    dataWord(in: text).map { $0 == UnitText.word(directory) }
      ?? Paths.dataOption(directory, variables).isEmpty
  }

  /// Whether the user's systemd starts the daemon of a data directory: by a unit of theirs, or by a
  /// package's that they enabled. A package's unit is for the default directory.
  static func starts(_ directory: String, _ variables: [String: String]) -> Bool {
    guard let folder = ServiceUnit.usersFolder(variables) else { return false }
    guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(name)")) else {
      // The link itself, wherever it leads.
      let link = try? FileManager.default.attributesOfItem(
        atPath: "\(folder)/default.target.wants/\(name)")
      return link != nil && Paths.dataOption(directory, variables).isEmpty
    }
    return isText(String(decoding: data, as: UTF8.self), of: directory, variables)
  }

  /// The advice if that service has ended.
  static let startAdvice =
    "Start its service: systemctl --user start \(name); to see why it stopped: cospool service logs"

  /// The file's text.
  ///
  /// Only the daemon is asked to stop, since it lets its agents end; processes that are left after
  /// it are killed. An agent that takes too much memory does not end the daemon. After a mistake in
  /// its arguments (2), another start does not help, and a store that was set aside (6) needs a
  /// user. A daemon that ended to be restarted (75) is started again. It may divide its control
  /// group, with a part for each turn. Nothing here restricts the daemon: agents would inherit
  /// that, and they run, compile and sandbox programs of their own.
  ///
  /// - Throws: `CommandFailure` if a path contains a control character, which a unit cannot
  ///   express.
  func text() throws(CommandFailure) -> String {
    let variables =
      ["PATH=" + searchPath]
      + proxyVariables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    for value in [program, dataDirectory] + variables where !UnitText.canHold(value) {
      throw CommandFailure(
        code: "invalidPath",
        message: "\(value) contains a control character, which systemd does not accept in a path.",
        exitCode: ExitStatus.usage)
    }
    return """
      # Written by "cospool service install", which overwrites it.
      [Unit]
      Description=Cospool: the work queues of coding agents
      Documentation=man:cospoold(1)
      StartLimitIntervalSec=60
      StartLimitBurst=4

      [Service]
      Type=notify
      ExecStart=\(UnitText.word(program)) --data \(UnitText.word(dataDirectory))
      \(variables.map { "Environment=" + UnitText.quoted($0) }.joined(separator: "\n"))
      Restart=on-failure
      RestartSec=2
      RestartPreventExitStatus=2 6
      RestartForceExitStatus=75
      SuccessExitStatus=75
      WatchdogSec=60
      KillMode=mixed
      Delegate=yes
      FileDescriptorStoreMax=1
      OOMPolicy=continue

      [Install]
      WantedBy=default.target

      """
  }
}
