import ArgumentParser
import Basics
import Platform

/// `cospool init`
struct InitCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Create the data directory, with the thread queue turned on.",
    discussion: """
      EXAMPLES
        cospool init
        cospool init --data ~/queues

      Writes config.json if there is none. It never changes an existing file.
      """)
  @OptionGroup var options: GlobalOptions

  /// The first settings of a user; only the library has the thread queue off.
  static let settings = "{\n  \"queueEnabled\" : true\n}\n"

  /// Makes the directory and its settings if they do not exist.
  ///
  /// - Returns: whether they did not exist.
  static func prepare(_ directory: String) throws(CommandFailure) -> Bool {
    let path = directory + "/config.json"
    guard !FileManager.default.fileExists(atPath: path) else { return false }
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      // If the folder is not writable, Foundation reports that there is no such file.
      guard access(directory, W_OK | X_OK) == 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EACCES)
      }
      try Data(settings.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw .unwritable(path, because: error)
    }
    return true
  }

  func run(in environment: Environment) async throws -> String {
    let directory = try environment.dataDirectory(flag: options.data)
    let path = directory + "/config.json"
    let isNew = try Self.prepare(directory)
    // A running daemon applies it; usually there is none yet.
    let reload = APIRequest(.post, ["settings", "reload"])
    let isRunning =
      (try? await DaemonConnection(dataDirectory: directory).answer(to: reload)) != nil
    if options.json { return #"{"created":\#(isNew)}"# }
    let what =
      isNew
      ? "created \(path) and turned the thread queue on" : "\(path) already exists; nothing changed"
    let place = options.data.map { _ in " --data " + Shell.quoted(directory) } ?? ""
    let next = isRunning ? "The daemon is running." : "Start the daemon: cospoold\(place)"
    return TextStyle.line(what) + "\n" + next
  }
}
