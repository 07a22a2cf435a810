/// What a daemon of any version says of itself: the rest of its status may have been another then.
struct RunningDaemon: Decodable, Equatable, Sendable {
  struct Process: Decodable, Equatable, Sendable {
    var version: String
    var processID: Int
  }

  var daemon: Process

  static func of(_ connection: DaemonConnection) async throws -> Process {
    try await connection.answer(to: APIRequest(.get, ["status"])).decoded(Self.self).daemon
  }
}
