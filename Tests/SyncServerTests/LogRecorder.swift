import Logging
import Synchronization

/// Records the log of a server.
final class LogRecorder: Sendable {
  private let kept = Mutex<[(level: Logger.Level, text: String)]>([])

  /// The lines of a level and above.
  func lines(_ level: Logger.Level = .notice) -> [String] {
    kept.withLock { $0.filter { $0.level >= level }.map(\.text) }
  }

  var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(recorder: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      recorder.kept.withLock { $0.append((event.level, "\(event.message)")) }
    }
  }
}
