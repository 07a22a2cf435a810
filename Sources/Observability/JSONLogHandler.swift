package import Foundation
package import Logging

/// Writes a line of JSON for each log entry: `time` (ISO 8601, UTC, milliseconds), `level`, `label`
/// and `message`. All other values are in `metadata`, by name.
package struct JSONLogHandler: LogHandler {
  package var logLevel = Logger.Level.info
  package var metadata: Logger.Metadata = [:]
  private let label: String
  private let write: @Sendable (Data) -> Void

  /// - Parameter write: receives a whole line with its end; standard error by default.
  package init(
    label: String,
    write: @escaping @Sendable (Data) -> Void = { line in
      // If standard error fails, there is no way left to report it.
      try? FileHandle.standardError.write(contentsOf: line)
    }
  ) {
    self.label = label
    self.write = write
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  private struct Line: Encodable {
    var time: String
    var level: String
    var label: String
    var message: String
    var metadata: [String: String]?
  }

  package func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { _, said in said }
    let entry = Line(
      time: Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
      level: event.level.rawValue, label: label, message: event.message.description,
      metadata: all.isEmpty ? nil : all.mapValues(\.description))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(entry) else { return }
    write(data + Data("\n".utf8))
  }
}

/// The format of a log.
package enum LogFormat: String, CaseIterable, Sendable {
  case text, json

  /// Makes all loggers of this process write to standard error in this format; each line begins
  /// with its time.
  package func bootstrap() {
    switch self {
    case .text: LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
    case .json: LoggingSystem.bootstrap { JSONLogHandler(label: $0) }
    }
  }
}
