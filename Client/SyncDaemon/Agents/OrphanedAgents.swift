import Foundation
import Logging
import QueueModel
import SyncClient

/// Agents of an earlier daemon that was killed: they go on without it, and are known by what stands
/// in their environment.
enum OrphanedAgents {
  /// Between SIGTERM and SIGKILL.
  static let grace = Duration.seconds(10)

  /// Ends what still works on these attempts, and all it started.
  ///
  /// Looks through `/proc`; where there is none, nothing is found.
  ///
  /// - Returns: the messages whose agents were found and ended: they did not finish. Of the others
  ///   nobody knows what became of them.
  static func end(_ starts: [ExecutionStart], logger: Logger) async -> Set<MessageID> {
    guard !starts.isEmpty else { return [] }
    var found: Set<MessageID> = []
    let deadline = ContinuousClock.now + grace
    while true {
      let alive = starts.flatMap { start in
        processes(of: start).map { (message: start.message, process: $0) }
      }
      guard !alive.isEmpty else { return found }
      let isLate = ContinuousClock.now >= deadline
      for (message, process) in alive {
        if found.insert(message).inserted {
          logger.notice("message \(message): ending its agent, which outlived its daemon")
        }
        kill(process, isLate ? SIGKILL : SIGTERM)
      }
      // A process that is not gone yet is asked again; a cancelled wait just asks sooner.
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  /// How long ended processes may take to go after SIGKILL; one that hangs in the system may never.
  static let killLimit = Duration.seconds(5)

  /// Ends what an agent that was stopped left at work: its tools may run in sessions of their own,
  /// where no signal to its process group finds them (Claude Code's do: anthropics/claude-code#94469).
  ///
  /// Returns when nothing is left, or `killLimit` after SIGKILL.
  ///
  /// - Parameter grace: between SIGTERM and SIGKILL.
  static func end(_ message: MessageID, attempt: UInt16, grace: Duration) async {
    let killTime = ContinuousClock.now + grace
    while ContinuousClock.now < killTime + killLimit {
      let alive = processes(of: message, attempt: attempt)
      guard !alive.isEmpty else { return }
      let isLate = ContinuousClock.now >= killTime
      for process in alive { kill(process, isLate ? SIGKILL : SIGTERM) }
      // The caller sees to it that this wait is not cut short.
      try? await Task.sleep(for: .milliseconds(50))
    }
  }

  private static func processes(of start: ExecutionStart) -> [pid_t] {
    processes(of: start.message, attempt: start.attempt)
  }

  private static func processes(of message: MessageID, attempt: UInt16) -> [pid_t] {
    let marks = [
      "COSPOOL_MESSAGE=\(message)", "COSPOOL_ATTEMPT=\(attempt)",
    ].map { Array($0.utf8) }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { process in
      guard process != getpid(),
        let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ")
      else { return false }
      let entries = Set(environment.split(separator: 0).map(Array.init))
      return marks.allSatisfy(entries.contains)
    }
  }
}
