import AgentFormats
import Foundation
import QueueModel

/// Any command as an agent: exit code 0 is success, 75 (`EX_TEMPFAIL`) asks to try later, anything
/// else is a failure.
enum CommandAgent {
  /// What stands for the prompt in a command.
  static let placeholder = "{}"

  /// - Parameter command: words as a shell would split them, but nothing is expanded and no shell
  ///   runs. Each `{}` becomes the prompt; without one the prompt goes to standard input.
  static func agent(
    command: String, timeoutSeconds: Int?,
    stopGrace: Duration = .milliseconds(LeaseTimes.stopGraceMilliseconds)
  ) throws(CommandLineFault) -> ProcessAgent<CommandReader> {
    let words = try CommandWords.split(command)
    guard !words.isEmpty else { throw CommandLineFault(reason: "the command is blank") }
    let takesArgument = words.contains { $0.contains(placeholder) }
    let isShell = isShellScript(words)
    guard !isShell || !words[2].contains(placeholder) else {
      throw CommandLineFault(
        reason: "{} in a shell's script would run what the prompt says: hand it over behind the "
          + "script (sh -c 'agent \"$1\"' sh {}), or leave it out, and it comes on standard input")
    }
    // Where the prompt alone is a word, and no word before it ends the options.
    let mayBeOption =
      !isShell && words.prefix { $0 != "--" }.contains(placeholder)
    return ProcessAgent(
      commandLine: { turn in
        // A list begins with a hyphen and a blank, which no option does.
        if mayBeOption, turn.prompt.hasPrefix("-"), !turn.prompt.hasPrefix("- ") {
          throw PromptFault(
            reason: "begins with -, and would be read as an option: write -- before {}, where the "
              + "agent knows that; or")
        }
        let filled = words.map { $0.replacingOccurrences(of: placeholder, with: turn.prompt) }
        if takesArgument { try PromptFault.check(filled) }
        return AgentCommandLine(words: filled, input: takesArgument ? nil : turn.prompt)
      },
      reader: { _ in CommandReader() }, isPlain: true, timeoutSeconds: timeoutSeconds,
      stopGrace: stopGrace)
  }

  /// Whether the third word is a script that a shell runs.
  private static func isShellScript(_ words: [String]) -> Bool {
    guard words.count > 2, words[1].hasPrefix("-"), words[1].hasSuffix("c") else { return false }
    let program = words[0].split(separator: "/").last.map(String.init) ?? ""
    return ["sh", "bash", "dash", "ash", "ksh", "zsh", "fish"].contains(program)
  }
}

/// A prompt that no argument of a process can hold.
struct PromptFault: Error, Hashable, CustomStringConvertible {
  var reason: String

  var description: String {
    "the prompt \(reason) leave {} out of the command, and it comes on standard input"
  }

  /// Bytes that one argument may have on Linux (execve(2)), without its end.
  static let argumentBytesMax = 131_071

  /// - Throws: where a word would be cut, or not be taken.
  static func check(_ words: [String]) throws(PromptFault) {
    for word in words {
      if word.utf8.contains(0) {
        throw PromptFault(reason: "holds a NUL character, where an argument ends:")
      }
      if word.utf8.count > argumentBytesMax {
        throw PromptFault(
          reason: "is too long for an argument, which has at most \(argumentBytesMax) bytes:")
      }
    }
  }
}

/// Keeps the last line of output, which says best what happened.
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
      return ([], .tryLater(reason: "the command asked to try later (exit code 75)", until: nil))
    case .exited, .signalled:
      let last = lines.text.isEmpty ? "" : ": \(lines.text)"
      return ([], .failed(reason: end.description + last))
    }
  }
}

/// The last line of what was written that is not blank.
struct LastLine: Sendable {
  /// Bytes of a line that are kept.
  static let bytesMax = 400

  private var line: [UInt8] = []
  private var ended = ""

  mutating func received(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        ended = text
        line.removeAll(keepingCapacity: true)
      } else if line.count < LastLine.bytesMax {
        line.append(byte)
      }
    }
  }

  /// Also one that has no end yet.
  var text: String {
    let current = String(decoding: line, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    return current.isEmpty ? ended : current
  }
}
