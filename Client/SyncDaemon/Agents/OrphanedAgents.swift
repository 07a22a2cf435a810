import Foundation
import Logging
import QueueModel
import SyncClient

/// Agents of an earlier daemon that was killed: they continue without it. Their environment
/// identifies them.
enum OrphanedAgents {
  /// The time between SIGTERM and SIGKILL, as for an agent of this daemon. Their lease may have
  /// ended meanwhile: without a daemon they are not stopped earlier.
  static let grace = Duration.milliseconds(LeaseTimes.stopGraceMilliseconds)

  /// How long killed processes may take to disappear. A process that hangs in the system may never
  /// disappear, but does nothing when it returns.
  static let killLimit = Duration.seconds(2)
  /// The time between two checks.
  private static let period = Duration.milliseconds(100)

  /// Ends the processes that still work on these attempts, and all processes that they started.
  ///
  /// Looks through `/proc`; without it, nothing is found. Returns when no process is left, or
  /// `killLimit` after SIGKILL.
  ///
  /// - Parameter dataDirectory: the daemon's, which distinguishes its agents from those of others.
  /// - Returns: the messages whose agents were found and ended: they did not finish. The outcome of
  ///   the other messages is unknown.
  static func end(
    _ starts: [TurnStart], dataDirectory: String, logger: Logger
  ) async -> Set<MessageID> {
    let marks = starts.map {
      Marks(message: $0.message, attempt: $0.attempt, dataDirectory: dataDirectory)
    }
    return await end(marks, grace: grace) { message in
      logger.notice(
        "stopping an agent that outlived its daemon", metadata: ["message": "\(message)"])
    }
  }

  /// Ends the processes that a stopped agent left: its tools may run in sessions of their own,
  /// where no signal to its process group reaches them (Claude Code's do:
  /// anthropics/claude-code#94469).
  ///
  /// - Parameter grace: the time between SIGTERM and SIGKILL.
  static func end(_ turn: AgentTurn, grace: Duration) async {
    let marks = Marks(
      message: turn.message, attempt: turn.attempt, dataDirectory: turn.dataDirectory)
    _ = await end([marks], grace: grace) { _ in }
  }

  private static func end(
    _ marks: [Marks], grace: Duration, _ found: (MessageID) -> Void
  ) async -> Set<MessageID> {
    guard !marks.isEmpty else { return [] }
    var messages: Set<MessageID> = []
    var asked: Set<pid_t> = []
    let killTime = ContinuousClock.now + grace
    while ContinuousClock.now < killTime + killLimit {
      let alive = marks.flatMap { marks in
        processes(with: marks).map { (message: marks.message, process: $0) }
      }
      guard !alive.isEmpty else { break }
      let isLate = ContinuousClock.now >= killTime
      for (message, process) in alive {
        if messages.insert(message).inserted { found(message) }
        // It is sent once: many programs treat a second one as an order to abort.
        let isFirst = asked.insert(process).inserted
        if isLate || isFirst { kill(process, isLate ? SIGKILL : SIGTERM) }
      }
      // A wait that was cancelled would end at once, and this must not be cut short.
      await Task { try? await Task.sleep(for: period) }.value
    }
    return messages
  }

  /// The marks that identify the processes of an attempt.
  private struct Marks {
    var message: MessageID
    var attempt: UInt16
    var dataDirectory: String

    func fit(_ environment: Data) -> Bool {
      let entries = Set(environment.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
      return entries.contains("COSPOOL_MESSAGE=\(message)")
        && entries.contains("COSPOOL_ATTEMPT=\(attempt)")
        && entries.contains("COSPOOL_DATA=\(dataDirectory)")
    }
  }

  private static func processes(with marks: Marks) -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { process in
      guard process != getpid(),
        let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ")
      else { return false }
      return marks.fit(environment)
    }
  }
}
