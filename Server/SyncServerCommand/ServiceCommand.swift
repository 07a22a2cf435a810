import ArgumentParser
import Basics
import Foundation
import Operations
import SyncServer

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

  func unit() throws(OperationFailure) -> ServiceUnit {
    let variables = ["HOME": ServerAccount.home].merging(ProcessInfo.processInfo.environment) {
      $1.isEmpty ? $0 : $1
    }
    let usual =
      user
      ? try ServiceUnit.usersPath(ServerUnit.name, variables)
      : "/etc/systemd/system/\(ServerUnit.name)"
    return ServiceUnit(
      name: ServerUnit.name, path: unitFolder.map { "\($0)/\(ServerUnit.name)" } ?? usual,
      isUsers: user, command: "cospool-server service VERB" + (user ? " --user" : ""),
      variables: variables)
  }
}

struct ServiceInstallCommand: AsyncParsableCommand {
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
    // Refuses now any options that serve would refuse at every start.
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

  /// Refuses missing files, because the service would fail at every start.
  private func requireFiles() throws {
    let options = try ServeCommand.parse(serving)
    for path in [options.certificate, options.key].compactMap({ $0 })
    where !FileManager.default.fileExists(atPath: path) {
      throw SyncServerError(
        .usage, "There is no file \(path). Check the names of the certificate and its key.")
    }
  }

  func run() async throws {
    let service = try scope.unit()
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
    try refuseSecondUnit()
    if !scope.user {
      // If systemd does not answer, nothing is changed.
      try await service.systemctl("daemon-reload")
      try await makeAccount(service)
    }
    try await service.install(unit.text())
    try StandardOutput.write("started: \(service.path)")
    try StandardOutput.write(
      scope.user
        ? "It starts at your login. To run it without a login: loginctl enable-linger"
        : "To print a code for a device: sudo cospool-server pair")
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

  /// Refuses a second unit with the same name: its options would conflict with those of the first.
  private func refuseSecondUnit() throws(SyncServerError) {
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

  private func makeAccount(_ service: ServiceUnit) async throws {
    guard getpwnam(ServerUnit.account) == nil else { return }
    let words = [
      "useradd", "--system", "--user-group", "--no-create-home", "--home-dir",
      ServerUnit.dataDirectory, "--shell", "/usr/sbin/nologin", ServerUnit.account,
    ]
    let run = try await ServiceUnit.run(
      words, variables: service.variables, for: "cospool-server")
    guard run.status == 0 else {
      throw SyncServerError(
        .failed, "The account \(ServerUnit.account) cannot be created: \(run.output)")
    }
  }
}

struct ServiceUninstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall", abstract: "Stop the service and remove its unit; the data stays.")

  @OptionGroup var scope: ServiceScopeOptions

  func run() async throws {
    let unit = try scope.unit()
    try StandardOutput.write(
      try await unit.uninstall()
        ? "removed \(unit.path)" : "\(unit.path) does not exist; nothing changed")
  }
}

struct ServiceStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the state of the service.",
    discussion: "Exit codes: 0 it runs, 1 it does not.")

  @OptionGroup var scope: ServiceScopeOptions

  func run() async throws {
    let status = try await scope.unit().status()
    try StandardOutput.write(status.text)
    guard status.isActive else { throw ExitCode(ExitStatus.failed) }
  }
}

struct ServiceLogsCommand: AsyncParsableCommand {
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

  func run() async throws {
    try StandardOutput.write(try await scope.unit().log(lines: lines))
  }
}
