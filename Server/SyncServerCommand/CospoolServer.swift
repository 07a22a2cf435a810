import ArgumentParser
import Basics
import CommandArguments
import Foundation
import ProcessResources
import SyncServer
import Systemd

/// The server's command line. It holds only texts and exit codes; the logic is in `SyncServer`.
@main
struct CospoolServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-server",
    abstract: "Keep the work queues of your coding agents identical on every device.",
    discussion: """
      The data directory is --data DIR, or else $COSPOOL_SERVER_DATA, or else \
      $XDG_DATA_HOME/cospool-server, or else ~/.local/share/cospool-server. For root, if none of \
      these is set, it is the service's: \(ServerUnit.dataDirectory). If another account \
      owns the data, root's commands run as that account.

      EXAMPLES
        cospool-server                                   serve on 127.0.0.1:\(SyncServerOptions.portDefault)
        cospool-server serve --host 10.0.0.5 --port 7500 serve a private network
        cospool-server serve --host 0.0.0.0 --certificate c.pem --key k.pem
                                                         serve all networks over TLS (wss)
        cospool-server serve --trusted-proxy 127.0.0.1 --url wss://cospool.example
                                                         behind a proxy with TLS on this machine
        cospool-server serve --metrics 9420              numbers for Prometheus, on this machine
        cospool-server pair                              print a one-time code for a new device
        cospool-server pair --workspace team --new       create a workspace, and print its code
        cospool-server pair --role viewer --expires 30d  for a device that can only read, for 30 days
        cospool-server devices                           list the devices
        cospool-server revoke old-laptop                 revoke a device's access
        cospool-server status                            devices, logs and pushes
        cospool-server doctor                            find problems, and suggest fixes
        cospool-server backup create --folder /backup    back up while the server runs
        cospool-server workspace quota team --daily 256  limit the space of a workspace
        cospool-server workspace rename default team     rename a workspace
        cospool-server log                               who paired, joined, was refused or decided
        cospool-server push configure apns --key-file K  push to Apple's devices
        cospool-server push configure answers --server https://cospool.example
                                                         approve and deny by buttons (ntfy)
        cospool-server push configure root --file ca.pem trust your own authority
        cospool-server push configure network --allow 10.0.0.8
                                                         also push to this private address
        cospool-server service install                   run the server under systemd
        cospool-server push targets                      list where notifications go
        cospool-server push test 3f0c                    send a test notice now

      With --json, errors are JSON as well, on stderr: {"error": {"code", "message", "exitCode"}}.

      EXIT CODES
        0 ok, 1 failed, 2 usage, 3 authentication, 4 unreachable, 5 conflict, \
      6 corrupt data, 7 disk, 75 try again later
      """,
    version: ServerVersion.text,
    subcommands: [
      ServeCommand.self, PairingCodeCommand.self, DevicesCommand.self, RevokeCommand.self,
      ServerStatusCommand.self, ServerHealthCommand.self, ServerDoctorCommand.self,
      BackupCommand.self, WorkspaceCommand.self,
      WorkspaceLogCommand.self, PushCommand.self, ServiceCommand.self,
    ],
    defaultSubcommand: ServeCommand.self)

  static func main() async {
    // Every file that it writes is private to its owner from the start, even in a shared directory.
    umask(0o077)
    DispatchLog.silence()
    Heap.limitArenas()
    do {
      let reading = try ArgumentReader(CospoolServer.self, shared: [DataOptions.self]).read(
        Array(ProcessInfo.processInfo.arguments.dropFirst()))
      var command = try parseAsRoot(reading.arguments)
      if let command = command as? any StoreCommand {
        try ServerAccount.become(ownerOf: command.data.resolved)
      }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let failure = ServerFailure(error)
      guard failure.exitCode != 0 else {
        if !failure.text.isEmpty { print(failure.text) }
        Foundation.exit(0)
      }
      let text = asksForJSON ? failure.json : failure.text
      if !text.isEmpty { StandardError.write(text + "\n") }
      Foundation.exit(failure.exitCode)
    }
  }

  /// Whether errors are written as JSON, too.
  private static var asksForJSON: Bool {
    ProcessInfo.processInfo.arguments.prefix { $0 != "--" }.contains("--json")
  }
}

/// Names the data directory; all commands share it.
struct DataOptions: ParsableArguments {
  @Option(name: .customLong("data"), help: "The data directory.")
  var directory: String?

  func validate() throws {
    guard directory != "" else { throw ValidationError(DataPath.empty) }
  }

  private var isNamed: Bool {
    directory != nil || ProcessInfo.processInfo.environment["COSPOOL_SERVER_DATA"] != nil
  }

  /// How to start the server of the data directory, or to reach the server of this machine, which a
  /// command without a directory and without root misses. nil if it is started by hand.
  var startAdvice: String? {
    if let advice = ServerUnit.startAdvice(for: resolved) { return advice }
    guard !isNamed, !ServerAccount.wasRoot,
      FileManager.default.fileExists(atPath: ServerUnit.dataDirectory)
    else { return nil }
    return "The server of this machine has its data in \(ServerUnit.dataDirectory): sudo "
      + "cospool-server pair"
  }

  var resolved: String {
    let variables = ProcessInfo.processInfo.environment
    let usual =
      DataPath.server.resolve(
        option: directory, environment: variables, home: ServerAccount.home) ?? "/"
    return ServerAccount.directory(
      usual: usual, isNamed: isNamed, isRoot: ServerAccount.wasRoot,
      exists: FileManager.default.fileExists(atPath:))
  }
}

enum StandardError {
  static func write(_ text: String) {
    // If standard error fails, there is no way left to report it.
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

enum StandardOutput {
  /// Prints at once, even into a pipe.
  static func write(_ text: String) throws(SyncServerError) {
    try write(Data((text + "\n").utf8))
  }

  static func write(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(value)
    try write(data + Data("\n".utf8))
  }

  /// Prints a value as JSON, or as text for users.
  static func write(
    _ value: some Encodable, asJSON: Bool, text: @autoclosure () -> String
  ) throws {
    if asJSON { try write(json: value) } else { try write(text()) }
  }

  /// Fails if the output is a file on a full disk, or a pipe without a reader.
  static func write(_ data: Data) throws(SyncServerError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      throw .disk("The output", "cannot be written", error)
    }
  }
}
