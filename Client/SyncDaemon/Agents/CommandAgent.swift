import AgentFormats
import Foundation
import QueueModel

/// Any command as an agent: exit code 0 is success, 75 (`EX_TEMPFAIL`) asks to try later, anything
/// else is a failure.
enum CommandAgent {
  /// - Parameter command: see `CommandTemplate`; without `{}` the prompt goes to standard input.
  static func agent(
    command: String, timeoutSeconds: Int?,
    stopGrace: Duration = .milliseconds(LeaseTimes.stopGraceMilliseconds)
  ) throws(CommandLineFault) -> ProcessAgent<CommandReader> {
    let template = try CommandTemplate(command)
    return ProcessAgent(
      commandLine: { turn in
        AgentCommandLine(
          words: try template.words(with: turn.prompt),
          input: template.takesArgument ? nil : turn.prompt)
      },
      reader: { _ in CommandReader() }, isPlain: true, timeoutSeconds: timeoutSeconds,
      stopGrace: stopGrace)
  }
}

/// A prompt that does not fit into a process's argument.
struct PromptFault: Error, Hashable, CustomStringConvertible {
  var reason: String

  var description: String {
    "the prompt \(reason) leave {} out of the command, so that it gets the prompt on standard input"
  }

  /// The maximum number of bytes of one argument on Linux (execve(2)), without its terminator.
  static let argumentBytesMax = 131_071

  /// - Throws: if a word would be cut or refused.
  static func check(_ words: [String]) throws(PromptFault) {
    for word in words {
      if word.utf8.contains(0) {
        throw PromptFault(reason: "contains a NUL character, which ends an argument:")
      }
      if word.utf8.count > argumentBytesMax {
        throw PromptFault(
          reason: "is too long for an argument of at most \(argumentBytesMax) bytes:")
      }
    }
  }
}

/// Keeps the last line of output, which describes the result best.
struct CommandReader: AgentOutputReader {
  private var lines = LastLine()

  mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent] {
    lines.received(bytes)
    return []
  }

  mutating func ended(
    _ end: ProcessEnd, now: Int64
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    switch end {
    case .exited(0):
      return ([], .succeeded(summary: lines.text))
    case .exited(75):
      return (
        [], .tryLater(reason: "the command asked for another try later (exit code 75)", until: nil)
      )
    case .exited, .signalled:
      let last = lines.text.isEmpty ? "" : ": \(lines.text)"
      return ([], .failed(reason: end.description + last))
    }
  }
}

/// The last line of the output that is not blank, as a terminal shows it: text after a carriage
/// return replaces the line.
struct LastLine: Sendable {
  /// The number of bytes of a line that are kept.
  static let bytesMax = 400

  private var line: [UInt8] = []
  private var ended = ""
  /// Whether the next byte replaces the line, unless it ends it.
  private var isReturned = false

  mutating func received(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        ended = text
        line.removeAll(keepingCapacity: true)
        isReturned = false
        continue
      }
      guard byte != UInt8(ascii: "\r") else {
        isReturned = true
        continue
      }
      if isReturned {
        line.removeAll(keepingCapacity: true)
        isReturned = false
      }
      if line.count < LastLine.bytesMax {
        line.append(byte)
      }
    }
  }

  /// Also a line without an end.
  var text: String {
    let current = String(decoding: line, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    return current.isEmpty ? ended : current
  }
}
