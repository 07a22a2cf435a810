import ArgumentParser
import Basics
import Foundation
import SyncServer
import Systemd

/// `cospool-server service …`
struct ServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service",
    abstract: "Run the server as a systemd service.",
    discussion: """
      EXAMPLES
        sudo cospool-server service install
        sudo cospool-server service install -- --host 10.0.0.5
        sudo cospool-server service install -- --host 0.0.0.0 --certificate /etc/c.pem --key /etc/k.pem
        cospool-server service install --user            as you, under your own systemd
        cospool-server service status
        sudo cospool-server service logs --lines 200
        sudo cospool-server service uninstall            the data stays

      The machine's service runs as the account \(ServerUnit.account), keeps its data in \
      \(ServerUnit.dataDirectory), and is confined as far as systemd can. The packages contain \
      the same unit: put its options into \(ServerUnit.optionsFile).
      """,
    subcommands: [
      ServiceInstallCommand.self, ServiceUninstallCommand.self, ServiceStatusCommand.self,
      ServiceLogsCommand.self,
    ])
}

/// Selects the machine's systemd or the user's.
struct ServiceScopeOptions: ParsableArguments {
  @Flag(help: "Use your own systemd instead of the machine's.")
  var user = false

  @Option(
    help: ArgumentHelp("The folder of units, if it is not the usual one.", valueName: "dir"))
  var unitFolder: String?

  func unitPath() throws(SyncServerError) -> String {
    if let unitFolder { return unitFolder + "/" + ServerUnit.name }
    guard user else { return "/etc/systemd/system/" + ServerUnit.name }
    return try Self.folder(ProcessInfo.processInfo.environment, home: ServerAccount.home) + "/"
      + ServerUnit.name
  }

  /// The folder of a user's own units.
  ///
  /// - Parameter home: the home directory that the system reports if HOME is not set.
  static func folder(
    _ variables: [String: String], home: String
  ) throws(SyncServerError) -> String {
    if let configured = variables["XDG_CONFIG_HOME"], configured.hasPrefix("/") {
      return configured + "/systemd/user"
    }
    let home = variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home
    guard home.hasPrefix("/") else {
      throw SyncServerError(
        .usage, "HOME is \(home), so your unit folder cannot be found. Set it to an absolute path.")
    }
    return home + "/.config/systemd/user"
  }

  /// Whether systemctl confirms a state of the service, as `is-active` and `is-enabled` do.
  func systemdSays(_ question: String) throws(SyncServerError) -> Bool {
    let words = ["systemctl"] + (user ? ["--user"] : []) + [question, "--quiet", ServerUnit.name]
    return try ServiceProgram.run(words).status == 0
  }

  /// The output of journalctl; nil if it failed.
  func journal(_ words: [String]) -> String? {
    let run = try? ServiceProgram.run(["journalctl"] + (user ? ["--user"] : []) + words)
    guard let run, run.status == 0, !run.output.isEmpty else { return nil }
    return run.output
  }

  func systemctl(_ words: String...) throws(SyncServerError) { try systemctl(words) }

  func systemctl(_ words: [String]) throws(SyncServerError) {
    let words = ["systemctl"] + (user ? ["--user"] : []) + words
    let run = try ServiceProgram.run(words)
    guard run.status != 0 else { return }
    throw SyncServerError(
      .failed,
      "\(words.joined(separator: " ")) failed. \(run.output)"
        + (user || geteuid() == 0 ? "" : "\nOnly root can manage the machine's services: use sudo.")
        + (run.output.contains("connect to bus")
          ? "\nThat systemd is not running"
            + (user ? ": log in directly instead of using su or sudo, and try again." : ".") : ""))
  }
}

/// Runs programs of the system.
enum ServiceProgram {
  /// Runs a program until it ends, and returns its output.
  static func run(_ words: [String]) throws(SyncServerError) -> (status: Int32, output: String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    do { try process.run() } catch {
      throw SyncServerError(.failed, "\(words[0]) cannot be run: \(error.localizedDescription)")
    }
    let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    // env(1) exits with 127 if the program does not exist.
    guard process.terminationStatus != 127 else {
      throw SyncServerError(
        .failed,
        "This machine has no \(words[0]). Start cospool-server with the service manager that "
          + "it has.")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return (
      process.terminationStatus, text.trimmingCharacters(in: .whitespacesAndNewlines)
    )
  }
}

struct ServiceInstallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Install the unit, start it, and start it at boot.",
    discussion: """
      Options after -- are those of serve. It is safe to run again: it writes the unit again, \
      and restarts it. If the unit does not start, the previous one is restored.
      """)

  @OptionGroup var scope: ServiceScopeOptions
  @OptionGroup var data: DataOptions

  @Flag(help: "Print the unit and change nothing.")
  var dryRun = false

  @Option(help: ArgumentHelp("The program to run. Default: this one.", valueName: "path"))
  var program: String?

  @Argument(
    parsing: .postTerminator, help: ArgumentHelp("The options of serve.", valueName: "option"))
  var serving: [String] = []

  func validate() throws {
    guard (serving + [program ?? ""]).allSatisfy(UnitText.canHold) else {
      throw ValidationError("A unit cannot contain control characters.")
    }
    guard data.directory == nil || scope.user else {
      throw ValidationError(
        "--data works only with --user: the machine's service has its data in "
          + "\(ServerUnit.dataDirectory).")
    }
    guard !serving.contains(where: { $0 == "--data" || $0.hasPrefix("--data=") }) else {
      throw ValidationError("Put --data before --. It works only with --user.")
    }
    // Refuses now what serve would refuse at every start.
    let options: ServeCommand
    do { options = try ServeCommand.parse(serving) } catch {
      throw ValidationError(ServeCommand.message(for: error))
    }
    try refusePrivileged(options)
  }

  /// Refuses ports that need a capability: the machine's service has none, and would fail at every
  /// start.
  private func refusePrivileged(_ options: ServeCommand) throws {
    guard !scope.user else { return }
    let first = ListeningAddress.firstUnprivilegedPort
    let numbers = options.metrics.flatMap(MetricsAddress.init)?.port
    for port in [options.port, numbers ?? 0] where ListeningAddress.isPrivileged(port, first: first)
    {
      throw ValidationError(
        "The machine's service cannot listen on port \(port): \(ListeningAddress.below(first)).")
    }
  }

  /// Options of serve that name files; their paths may be relative to the current folder.
  private static let files = ["--certificate", "--key"]

  /// The options for the unit, with absolute paths, because it runs in another folder.
  private var servingAnywhere: [String] {
    func absolute(_ path: some StringProtocol) -> String {
      URL(filePath: String(path)).path(percentEncoded: false)
    }
    return serving.indices.map { index in
      let word = serving[index]
      if index > 0, Self.files.contains(serving[index - 1]) { return absolute(word) }
      guard let option = Self.files.first(where: { word.hasPrefix($0 + "=") }) else { return word }
      return "\(option)=\(absolute(word.dropFirst(option.count + 1)))"
    }
  }

  /// Refuses missing files, with which the service would fail at every start.
  private func requireFiles() throws {
    let options = try ServeCommand.parse(serving)
    for path in [options.certificate, options.key].compactMap({ $0 })
    where !FileManager.default.fileExists(atPath: path) {
      throw SyncServerError(
        .usage, "There is no file \(path). Check the names of the certificate and its key.")
    }
  }

  func run() throws {
    let path = try scope.unitPath()
    let called = program ?? Bundle.main.executablePath ?? "/usr/bin/cospool-server"
    let unit = ServerUnit(
      program: URL(filePath: called).path(percentEncoded: false), options: servingAnywhere,
      scope: scope.user
        ? .person(dataDirectory: URL(filePath: data.resolved).path(percentEncoded: false))
        : .system)
    if dryRun {
      try StandardOutput.write(String(unit.text().dropLast()))
      return
    }
    try requireFiles()
    try refuseInHome(unit.program)
    try refuseBesidePackage()
    // If systemd does not answer, nothing is changed.
    try scope.systemctl("daemon-reload")
    if !scope.user { try makeAccount() }
    let former = FileManager.default.contents(atPath: path)
    let change = UnitChange(
      name: ServerUnit.name, wasThere: former != nil,
      wasEnabled: try former != nil && scope.systemdSays("is-enabled"),
      wasActive: try former != nil && scope.systemdSays("is-active"))
    try write(Data(unit.text().utf8), to: path)
    try start(path, change, else: former)
    try StandardOutput.write("started: \(path)")
    try StandardOutput.write(
      scope.user
        ? "It starts at your login. To run it without a login: loginctl enable-linger"
        : "To print a code for a device: sudo cospool-server pair")
  }

  private func write(_ text: Data, to path: String) throws(SyncServerError) {
    do {
      let folder = URL(filePath: path).deletingLastPathComponent()
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try text.write(to: URL(filePath: path), options: .atomic)
      // systemd warns if others cannot read a unit.
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    } catch {
      throw SyncServerError.disk(path, "cannot be written", error)
    }
  }

  /// Starts the service, now and at every boot or login. If it does not start, the former unit is
  /// restored: a broken one would fail again at every boot or login.
  ///
  /// - Parameter former: the former unit; nil if there was none.
  private func start(
    _ path: String, _ change: UnitChange, else former: Data?
  ) throws(SyncServerError) {
    let began = Int(Date().timeIntervalSince1970)
    do throws(SyncServerError) {
      for words in change.start { try scope.systemctl(words) }
    } catch {
      let wrote = scope.journal(change.journal(since: began))
      var problem: String?
      do throws(SyncServerError) { try bringBack(former, path, change) } catch {
        problem = error.message
      }
      throw SyncServerError(
        error.code,
        change.failure(
          error.message, wrote: wrote, problem: problem, command: "cospool-server service",
          scope: scope.user ? " --user" : ""))
    }
  }

  private func bringBack(
    _ former: Data?, _ path: String, _ change: UnitChange
  ) throws(SyncServerError) {
    for words in change.takeBack { try scope.systemctl(words) }
    if let former {
      try write(former, to: path)
    } else {
      do { try FileManager.default.removeItem(atPath: path) } catch {
        throw SyncServerError.disk(path, "cannot be removed", error)
      }
    }
    for (words, mayFail) in change.bringBack {
      do throws(SyncServerError) { try scope.systemctl(words) } catch {
        guard mayFail else { throw error }
      }
    }
  }

  /// Refuses a program in a home directory, to which the machine's service has no access.
  private func refuseInHome(_ program: String) throws(SyncServerError) {
    let homes = ["/home", "/root", "/run/user"]
    guard !scope.user, homes.contains(where: { program.hasPrefix($0 + "/") }) else { return }
    throw SyncServerError(
      .usage,
      "The machine's service cannot run \(program), because it has no access to home "
        + "directories. Install the program elsewhere (install.sh --prefix /usr/local, make "
        + "install), or install your own service: --user.")
  }

  /// Refuses a second unit of the same name: it would be unclear which options apply.
  private func refuseBesidePackage() throws(SyncServerError) {
    guard !scope.user, scope.unitFolder == nil else { return }
    for folder in ServerUnit.packageFolders {
      let path = "\(folder)/\(ServerUnit.name)"
      guard FileManager.default.fileExists(atPath: path) else { continue }
      throw SyncServerError(
        .failed,
        "A package has already installed the unit: \(path). Put options into "
          + "\(ServerUnit.optionsFile), then: systemctl enable --now \(ServerUnit.name)")
    }
  }

  private func makeAccount() throws(SyncServerError) {
    guard getpwnam(ServerUnit.account) == nil else { return }
    let run = try ServiceProgram.run([
      "useradd", "--system", "--user-group", "--no-create-home", "--home-dir",
      ServerUnit.dataDirectory, "--shell", "/usr/sbin/nologin", ServerUnit.account,
    ])
    guard run.status == 0 else {
      throw SyncServerError(
        .failed, "The account \(ServerUnit.account) cannot be created: \(run.output)")
    }
  }
}

struct ServiceUninstallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall", abstract: "Stop the service and remove its unit; the data stays.")

  @OptionGroup var scope: ServiceScopeOptions

  func run() throws {
    let path = try scope.unitPath()
    guard FileManager.default.fileExists(atPath: path) else {
      try StandardOutput.write("\(path) does not exist; nothing changed")
      return
    }
    try scope.systemctl("disable", "--now", ServerUnit.name)
    do { try FileManager.default.removeItem(atPath: path) } catch {
      throw SyncServerError.disk(path, "cannot be removed", error)
    }
    try scope.systemctl("daemon-reload")
    try StandardOutput.write("removed \(path)")
  }
}

struct ServiceStatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the state of the service.",
    discussion: "Exit codes: 0 it runs, 1 it does not.")

  @OptionGroup var scope: ServiceScopeOptions

  func run() throws {
    let words = ["systemctl"] + (scope.user ? ["--user"] : [])
    let run = try ServiceProgram.run(
      words + ["status", "--no-pager", "--lines=0", ServerUnit.name])
    try StandardOutput.write(run.output)
    guard run.status == 0 else { throw ExitCode(ExitStatus.failed) }
  }
}

struct ServiceLogsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logs", abstract: "Show the latest log lines of the service.")

  @OptionGroup var scope: ServiceScopeOptions

  @Option(help: "The number of lines.")
  var lines = 50

  func validate() throws {
    guard (1...10_000).contains(lines) else {
      throw ValidationError("--lines: give 1 to 10000.")
    }
  }

  func run() throws {
    let words = ["journalctl"] + (scope.user ? ["--user"] : [])
    let run = try ServiceProgram.run(
      words + ["--unit", ServerUnit.name, "--no-pager", "--lines=\(lines)"])
    guard run.status == 0 else { throw SyncServerError(.failed, run.output) }
    try StandardOutput.write(run.output)
  }
}
