import Basics
import Platform

/// A unit that a command installs, shows and removes; systemctl(1), journalctl(1).
package struct ServiceUnit: Sendable {
  package var name: String
  package var path: String
  /// Whether the user's systemd runs it instead of the machine's.
  package var isUsers: Bool
  /// The command, with `VERB` in place of `logs` and `uninstall`.
  package var command: String
  package var variables: [String: String]

  /// The time limit of systemd's actions, in seconds: a daemon has 90 to stop.
  private static let seconds: Double = 120

  package init(
    name: String, path: String, isUsers: Bool, command: String, variables: [String: String]
  ) {
    (self.name, self.path, self.isUsers) = (name, path, isUsers)
    (self.command, self.variables) = (command, variables)
  }

  /// The folder of a user's own units; nil if no home is known.
  package static func usersFolder(_ variables: [String: String]) -> String? {
    let places = [
      variables["XDG_CONFIG_HOME"],
      variables["HOME"].flatMap { $0.isEmpty ? nil : $0 + "/.config" },
    ]
    return places.compactMap { $0 }.first { $0.hasPrefix("/") }.map { $0 + "/systemd/user" }
  }

  /// The path of a user's own unit.
  package static func usersPath(
    _ name: String, _ variables: [String: String]
  ) throws(OperationFailure) -> String {
    if let folder = usersFolder(variables) { return folder + "/" + name }
    let home = variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? "not set"
    throw OperationFailure(
      "usage",
      "HOME is \(home), so your unit folder cannot be found. Set it to an absolute path.",
      exitCode: ExitStatus.usage)
  }

  // MARK: Programs of systemd

  /// Runs a program of a service manager.
  package static func run(
    _ words: [String], variables: [String: String], for service: String
  ) async throws(OperationFailure) -> ProgramRun {
    let run = await ProgramRun.run(
      words, variables: variables, seconds: seconds, withErrors: true)
    if let run { return run }
    throw OperationFailure(
      "noSystemd",
      "This machine has no \(words[0]). Start \(service) with the service manager that it has.")
  }

  private func run(_ words: [String]) async throws(OperationFailure) -> ProgramRun {
    try await Self.run(
      [words[0]] + (isUsers ? ["--user"] : []) + words.dropFirst(), variables: variables,
      for: name.replacing(".service", with: ""))
  }

  /// Runs an action of systemd.
  package func systemctl(_ words: String...) async throws(OperationFailure) {
    let run = try await run(["systemctl"] + words)
    guard run.status != 0 else { return }
    let reason = run.output.trimmedEnd
    let called = (["systemctl"] + (isUsers ? ["--user"] : []) + words).joined(separator: " ")
    let isForbidden = !isUsers && geteuid() != 0
    throw OperationFailure(
      "systemd",
      "\(called) failed" + (reason.isEmpty ? "." : ": \(reason)")
        + (isForbidden ? "\nOnly root can manage the machine's services: use sudo." : "")
        + absence(reason))
  }

  /// The advice if systemd reports that it is not running.
  private func absence(_ reason: String) -> String {
    guard reason.contains("connect to bus") else { return "" }
    return isUsers
      ? "\nYour user systemd is not running. Log in directly instead of using su or sudo, and try again."
      : "\nThat systemd is not running."
  }

  /// Whether systemd confirms a property of the service, as for `is-active` and `is-enabled`.
  package func says(_ question: String) async throws(OperationFailure) -> Bool {
    try await run(["systemctl", question, "--quiet", name]).status == 0
  }

  // MARK: Actions

  /// Writes the unit, and starts the service now and at every boot or login. If it does not start,
  /// the former unit is restored: a broken one would fail again at every boot or login. If systemd
  /// does not answer, nothing is changed.
  package func install(_ text: String) async throws(OperationFailure) {
    try await systemctl("daemon-reload")
    let file = try ServiceFile(path)
    let wasEnabled = try await says("is-enabled")
    let wasActive = try await says("is-active")
    try file.write(text)
    let began = Int(Date().timeIntervalSince1970)
    do throws(OperationFailure) {
      try await systemctl("daemon-reload")
      try await systemctl("enable", name)
      try await systemctl("restart", name)
    } catch {
      let wrote = await journal(since: began)
      throw await file.failure(
        error, wrote: wrote, wasService: wasEnabled || wasActive, command: command
      ) { () async throws(OperationFailure) in
        if !wasEnabled { try await systemctl("disable", name) }
        if !wasActive { try await systemctl("stop", name) }
        try file.bringBack()
        try await systemctl("daemon-reload")
        // Without this, the service could count as failed, or as started too often.
        _ = try await run(["systemctl", "reset-failed", name])
        if wasActive { try await systemctl("restart", name) }
      }
    }
  }

  /// The latest lines that the service and systemd wrote; nil if they cannot be read.
  ///
  /// - Parameter began: seconds since 1970.
  private func journal(since began: Int) async -> String? {
    let words = [
      "journalctl", "--unit", name, "--since=@\(began)", "--quiet", "--no-pager", "--output=cat",
      "--lines=12",
    ]
    guard let run = try? await run(words), run.status == 0, !run.output.isEmpty else { return nil }
    return run.output.trimmedEnd
  }

  /// Stops the service, and removes its unit.
  ///
  /// - Returns: whether there was one.
  package func uninstall() async throws(OperationFailure) -> Bool {
    guard FileManager.default.fileExists(atPath: path) else { return false }
    try await systemctl("disable", "--now", name)
    try ServiceFile.remove(path)
    try await systemctl("daemon-reload")
    return true
  }

  /// Whether the service runs, and systemd's words about it.
  package func status() async throws(OperationFailure) -> (isActive: Bool, text: String) {
    let isActive = try await says("is-active")
    let said = try await run(["systemctl", "status", "--no-pager", "--lines=0", name]).output
    return (isActive, said.trimmedEnd + absence(said))
  }

  /// The latest lines of the service's log.
  package func log(lines: Int) async throws(OperationFailure) -> String {
    try await run(["journalctl", "--unit", name, "--no-pager", "--lines=\(lines)"])
      .succeeded("journalctl")
  }
}

extension ProgramRun {
  /// The output of a program, if it succeeded.
  package func succeeded(_ program: String) throws(OperationFailure) -> String {
    guard status != 0 else { return output.trimmedEnd }
    throw OperationFailure("systemd", "\(program) failed: \(output.trimmedEnd)")
  }
}

extension String {
  package var trimmedEnd: String {
    var text = self[...]
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
