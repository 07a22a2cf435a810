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

  private static func processes(of start: ExecutionStart) -> [pid_t] {
    let marks = [
      "COSPOOL_MESSAGE=\(start.message)", "COSPOOL_ATTEMPT=\(start.attempt)",
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
