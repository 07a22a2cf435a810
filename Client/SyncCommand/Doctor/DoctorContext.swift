import AgentFormats
import Basics
import LocalAPI
import Platform
import QueueModel

/// The data that the checks of `cospool doctor` examine.
struct DoctorContext: Sendable {
  var dataDirectory: String
  var variables: [String: String]
  /// This program's path.
  var program: String
  /// The time from which ages and remaining days are counted.
  var now: Date
  /// The folder in which systemd records whose services run without a login.
  var lingerFolder = DoctorContext.lingerFolderUsual
  static let lingerFolderUsual = "/var/lib/systemd/linger"

  /// Whether services of this account run without a login; nil if `USER` does not name the account.
  static func lingers(
    _ variables: [String: String], folder: String = lingerFolderUsual
  ) -> Bool? {
    guard let user = variables["USER"], !user.isEmpty else { return nil }
    return FileManager.default.fileExists(atPath: "\(folder)/\(user)")
  }

  /// The folders of packages' units for users.
  var unitFolders = [
    "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
  ]

  /// The daemon's status, or why it did not answer.
  var status: Result<StatusAnswer, CommandFailure>
  /// The process of a running daemon, even if this program does not understand its status.
  var running: RunningDaemon.Process?
  /// Values by the names of the settings: the daemon's effective ones, otherwise those of
  /// `config.json`.
  var settings: [String: JSONTree] = [:]
  /// The daemon's warnings about them.
  var warnings: [String] = []
  /// The server with which the device is paired; nil if it is not paired.
  var server: String?

  var limits: DoctorLimits

  var connection: DaemonConnection { DaemonConnection(dataDirectory: dataDirectory) }

  var home: String? { variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } }

  init(
    dataDirectory: String, variables: [String: String], program: String, now: Date,
    limits: DoctorLimits, status: Result<StatusAnswer, CommandFailure>
  ) {
    self.limits = limits
    self.dataDirectory = dataDirectory
    self.variables = variables
    self.program = program
    self.now = now
    self.status = status
  }

  /// Asks the daemon, and reads the files if it does not answer.
  static func gathered(
    dataDirectory: String, variables: [String: String], program: String, now: Date,
    limits: DoctorLimits = DoctorLimits()
  ) async -> DoctorContext {
    let connection = DaemonConnection(dataDirectory: dataDirectory)
    async let settings = try? connection.answer(to: limits.request(["settings"]))
    let status: Result<StatusAnswer, CommandFailure>
    var running: RunningDaemon.Process?
    do {
      let answer = try await connection.answer(to: limits.request(["status"]))
      running = try answer.decoded(RunningDaemon.self).daemon
      status = .success(try answer.decoded(StatusAnswer.self))
    } catch {
      status = .failure(CommandRunner.failure(of: error))
    }
    var context = DoctorContext(
      dataDirectory: dataDirectory, variables: variables, program: program, now: now,
      limits: limits, status: status)
    context.running = running
    if let answer = await settings, let rows = JSONTree(answer.json)?["settings"]?.elements {
      for row in rows {
        if let name = row["name"]?.text { context.settings[name] = row["value"] }
        if let warning = row["warning"]?.text { context.warnings.append(warning) }
      }
    } else if case .object(let members)? = context.tree(of: "config.json") {
      context.settings = members
    }
    context.server =
      (try? status.get())?.sync.server ?? context.tree(of: "credentials.json")?["server"]?.text
    return context
  }

  /// An answer of the daemon, in time for the report.
  func answer<Value: Decodable>(_ path: [String], as type: Value.Type) async throws -> Value {
    try await connection.answer(to: limits.request(path)).decoded(type)
  }

  /// A file of the data directory, as JSON; nil if it does not exist, or is not JSON.
  func tree(of name: String) -> JSONTree? {
    bytes(of: dataDirectory + "/" + name).flatMap { JSONTree($0) }
  }

  func bytes(of path: String) -> Data? { try? Data(contentsOf: URL(filePath: path)) }

  func text(of path: String) -> String? {
    bytes(of: path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// `--data`, if the folder is not the default one.
  var quotedDataOption: String {
    Paths.dataOption(dataDirectory, variables).map { " " + Shell.quoted($0) }.joined()
  }
}

/// The time for each answer. Whatever hangs, the report is complete within five seconds.
struct DoctorLimits: Sendable {
  /// A check.
  var check = Duration.seconds(3)
  /// The daemon, for one answer.
  var daemonSeconds: Double = 1.5
  /// The connection to the server's address.
  var connectSeconds: Int64 = 2
  /// The daemon's exchange of a large frame with the server; the daemon gives up a little earlier.
  var frameSeconds: Double = 2.8
  /// An agent, for its version.
  var versionSeconds: Double = 2.5

  func request(_ path: [String], _ method: APIRequest.Method = .get) -> APIRequest {
    var request = APIRequest(method, path)
    request.timeoutSeconds = daemonSeconds
    return request
  }
}
