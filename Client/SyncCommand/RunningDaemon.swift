import Basics
import Platform

/// The data that a daemon of any version reports: the rest of its status may have a different form.
struct RunningDaemon: Decodable, Equatable, Sendable {
  struct Process: Decodable, Equatable, Sendable {
    var version: String
    var processID: Int
  }

  var daemon: Process

  /// - Parameter seconds: the time limit of the answer.
  static func of(
    _ connection: DaemonConnection, within seconds: Double = APIRequest.timeoutSecondsDefault
  ) async throws -> Process {
    var request = APIRequest(.get, ["status"])
    request.timeoutSeconds = seconds
    return try await connection.answer(to: request).decoded(Self.self).daemon
  }

  /// The same, if its reported number is its number among the processes here, and it belongs to
  /// this user: a process that may be stopped.
  ///
  /// - Throws: `CommandFailure` if it runs in another container, or is another user's.
  static func here(_ connection: DaemonConnection) async throws -> Process {
    let daemon = try await of(connection)
    guard let listener = try await connection.listener() else { return daemon }
    guard Int(listener.id) == daemon.processID else {
      throw CommandFailure(
        code: "otherContainer",
        message:
          "The daemon is process \(daemon.processID) in another container. Run this command there.",
        exitCode: ExitStatus.failed)
    }
    guard listener.user == geteuid() else {
      throw CommandFailure(
        code: "otherUser",
        message:
          "The daemon, process \(listener.id), is user \(listener.user)'s. Run this command as that user.",
        exitCode: ExitStatus.failed)
    }
    return daemon
  }
}
