import AgentFormats
import Operations
import Platform

/// Whether the daemon comes back after a reboot.
extension Doctor {
  static let serviceChecks: [Check] = [
    .local("service", service), Check(code: "serviceFailed", run: serviceFailed),
    .local("linger", linger),
  ]

  /// The unit's file: the user's own, or a package's if it is enabled, since otherwise no user
  /// asked for it.
  private static func unitPath(_ context: DoctorContext) -> String? {
    guard ProgramRun.path(of: "systemctl", in: context.variables) != nil else { return nil }
    let own = ServiceUnit.usersFolder(context.variables).map { [$0] } ?? []
    let path = (own + context.unitFolders)
      .map { $0 + "/" + SystemdUnit.name }.first { FileManager.default.fileExists(atPath: $0) }
    guard let path, !own.contains(where: { path.hasPrefix($0 + "/") }) else { return path }
    return (own + context.unitFolders).contains(where: wants) ? path : nil
  }

  /// Whether the units of a folder are started at login.
  private static func wants(_ folder: String) -> Bool {
    var link = stat()
    return lstat("\(folder)/default.target.wants/\(SystemdUnit.name)", &link) == 0
  }

  private static func service(_ context: DoctorContext) -> [DoctorFinding] {
    guard ProgramRun.path(of: "systemctl", in: context.variables) != nil else { return [] }
    guard let path = unitPath(context), let text = context.text(of: path) else {
      return [
        .info(
          "service", "the daemon does not run as a service: after a reboot you have to start it",
          fix: "cospool service install\(context.quotedDataOption)")
      ]
    }
    let line = text.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }
    let command = line.map { String($0.dropFirst("ExecStart=".count)) } ?? ""
    let program = (try? CommandWords.split(command))?.first ?? ""
    guard ProgramRun.isExecutable(program) else {
      return [
        .error(
          "service", "\(path) runs \(program), which does not exist",
          fix: "Write it again: cospool service install\(context.quotedDataOption)")
      ]
    }
    let own = ServiceUnit.usersFolder(context.variables).map { [$0] } ?? []
    guard (own + context.unitFolders).contains(where: wants) else {
      return [
        .warning(
          "service", "\(path) is not enabled: it does not start at boot or login",
          fix: "systemctl --user enable --now \(SystemdUnit.name)")
      ]
    }
    return [.ok("service", path)]
  }

  /// Whether systemd gave up starting it: it ended with a fault that a start does not correct, or
  /// too often.
  private static func serviceFailed(_ context: DoctorContext) async -> [DoctorFinding] {
    let words = ["systemctl", "--user", "is-failed", SystemdUnit.name]
    guard let text = unitPath(context).flatMap({ context.text(of: $0) }),
      SystemdUnit.isText(text, of: context.dataDirectory, context.variables),
      let run = await ProgramRun.run(
        words, variables: context.variables, seconds: context.limits.versionSeconds),
      run.output.split(separator: "\n").first == "failed"
    else { return [] }
    return [
      .error(
        "serviceFailed", "the daemon's service failed, and systemd does not restart it",
        fix:
          "Find the reason: cospool service logs. Then: systemctl --user reset-failed "
          + "\(SystemdUnit.name); systemctl --user start \(SystemdUnit.name)")
    ]
  }

  private static func linger(_ context: DoctorContext) -> [DoctorFinding] {
    guard unitPath(context) != nil,
      let lingers = DoctorContext.lingers(context.variables, folder: context.lingerFolder)
    else { return [] }
    guard lingers else {
      return [
        .warning(
          "linger",
          "the service stops when you log out, and after a reboot it starts only at your login",
          fix: "loginctl enable-linger")
      ]
    }
    return [.ok("linger", "the service runs without a login")]
  }
}
