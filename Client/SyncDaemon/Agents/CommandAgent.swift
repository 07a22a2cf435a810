import AgentFormats
import Foundation

/// Any command as an agent: exit code 0 is success, 75 (`EX_TEMPFAIL`) asks to try later, anything
/// else is a failure.
enum CommandAgent {
  /// What stands for the prompt in a command.
  static let placeholder = "{}"

  /// - Parameter command: words as a shell would split them, but nothing is expanded and no shell
  ///   runs. Each `{}` becomes the prompt; without one the prompt goes to standard input.
  static func agent(
    command: String, timeoutSeconds: Int?, stopGrace: Duration = .seconds(10)
  ) throws(CommandLineFault) -> ProcessAgent<CommandReader> {
    let words = try CommandWords.split(command)
    guard !words.isEmpty else { throw CommandLineFault(reason: "the command is blank") }
    let takesArgument = words.contains { $0.contains(placeholder) }
    return ProcessAgent(
      commandLine: { turn in
        AgentCommandLine(
          words: words.map { $0.replacingOccurrences(of: placeholder, with: turn.prompt) },
          input: takesArgument ? nil : turn.prompt)
      },
      reader: { _ in CommandReader() }, timeoutSeconds: timeoutSeconds, stopGrace: stopGrace)
  }
}

/// Keeps the last line of output, which says best what happened.
struct CommandReader: AgentOutputReader {
  /// Bytes of a line that are kept.
  static let lineBytesMax = 400

  private var line: [UInt8] = []
  private var lastLine = ""

  mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent] {
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        endLine()
      } else if line.count < CommandReader.lineBytesMax {
        line.append(byte)
      }
    }
    return []
  }

  private mutating func endLine() {
    let text = String(decoding: line, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    if !text.isEmpty { lastLine = text }
    line.removeAll(keepingCapacity: true)
  }

  mutating func ended(
    _ end: ProcessEnd, now: Int64
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    endLine()
    switch end {
    case .exited(0):
      return ([], .succeeded(summary: lastLine))
    case .exited(75):
      return ([], .tryLater(reason: "the command asked to try later (exit code 75)", until: nil))
    case .exited, .signalled:
      let last = lastLine.isEmpty ? "" : ": \(lastLine)"
      return ([], .failed(reason: end.description + last))
    }
  }
}
