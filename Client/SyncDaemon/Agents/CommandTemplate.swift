import AgentFormats
import Foundation

/// A command with a place for the prompt: words as a shell would split them, but nothing is expanded and no shell runs.
///
/// The prompt reaches the agent as data: `{}` stands as a word of its own, or as `--name={}`, and nowhere where a known
/// program takes a script, another program, or a file to run. What a program of one's own makes of its argument is its own
/// matter.
struct CommandTemplate: Hashable, Sendable {
  /// What stands for the prompt.
  static let placeholder = "{}"

  private let words: [String]

  /// - Throws: why the command cannot be used, and what to do.
  init(_ command: String) throws(CommandLineFault) {
    words = try CommandWords.split(command)
    guard !words.isEmpty else { throw CommandLineFault(reason: "the command is blank") }
    for (index, word) in words.enumerated() where word.contains(CommandTemplate.placeholder) {
      let isData =
        word == CommandTemplate.placeholder
        ? !CommandTemplate.isRun(behind: words[..<index])
        : CommandTemplate.isNamed(word)
      guard isData else { throw CommandTemplate.fault }
    }
  }

  /// Whether the prompt is an argument.
  var takesArgument: Bool { words.contains { $0.contains(CommandTemplate.placeholder) } }

  /// The command for a prompt.
  ///
  /// - Throws: where the agent would read the prompt as an option, or no argument can hold it.
  func words(with prompt: String) throws(PromptFault) -> [String] {
    // A list begins with a hyphen and a blank, which no option does.
    let isOption = prompt.hasPrefix("-") && !prompt.hasPrefix("- ")
    if isOption, let index = words.firstIndex(of: CommandTemplate.placeholder), !endsOptions(index)
    {
      throw PromptFault(
        reason:
          "begins with -, and would be read as an option: write -- right before {}, if the agent "
          + "knows that; or")
    }
    let filled = words.map {
      $0.replacingOccurrences(of: CommandTemplate.placeholder, with: prompt)
    }
    if takesArgument { try PromptFault.check(filled) }
    return filled
  }

  private static let fault = CommandLineFault(
    reason:
      "{} must be a word of its own, or --name={}, and no script or program that is run, since a prompt could then run "
      + "commands. Leave {} out: the prompt comes on standard input, which is a file (/dev/stdin)")

  /// `--name={}`.
  private static func isNamed(_ word: String) -> Bool {
    guard word.hasPrefix("--"), word.hasSuffix("=" + placeholder) else { return false }
    let name = word.dropFirst(2).dropLast(placeholder.count + 1)
    return !name.isEmpty && !scriptNames.contains(String(name))
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
  }

  /// Whether what stands behind some words is run: as a script, a program or a file of commands.
  private static func isRun(behind words: ArraySlice<String>) -> Bool {
    guard !words.isEmpty else { return true }
    // Behind a script stand its arguments, which are no programs.
    var hasScript = false
    for index in words.indices {
      let word = words[index]
      let behind = words[(index + 1)...]
      if isScriptOption(word) {
        // The script has to stand right behind the option.
        guard let script = behind.first, !script.hasPrefix("-") else { return true }
        hasScript = hasScript || word.hasSuffix("c") || word.hasSuffix("e")
      }
      guard !hasScript else { continue }
      let program = word.split(separator: "/").last.map(String.init) ?? ""
      if joining.contains(program) { return true }
      if runners.contains(program), behind.allSatisfy(isNoOperand) { return true }
    }
    return false
  }

  /// `-c`, `-lc`, `-e`, `--command` and their like.
  private static func isScriptOption(_ word: String) -> Bool {
    if word.hasPrefix("--") { return scriptNames.contains(String(word.dropFirst(2))) }
    guard word.hasPrefix("-"), let last = word.last else { return false }
    return "ceErS".contains(last) && word.dropFirst().allSatisfy(\.isLetter)
  }

  /// An option, a number such as a time, or a variable.
  private static func isNoOperand(_ word: String) -> Bool {
    word.hasPrefix("-") || word.first?.isNumber == true || word.contains("=")
  }

  /// Whether the agent reads no option at a place: `--` stands right before it, and is not a script's argument.
  private func endsOptions(_ index: Int) -> Bool {
    index > 0 && words[index - 1] == "--"
      && !words[..<index].contains(where: CommandTemplate.isScriptOption)
  }

  /// Long options that take a script.
  private static let scriptNames: Set<String> = [
    "command", "eval", "exec", "execute", "init-file", "rcfile", "split-string",
  ]
  /// Programs that make a script of all of their arguments.
  private static let joining: Set<String> = [
    "eval", "mosh", "parallel", "rsh", "screen", "script", "ssh", "su", "tmux", "watch", "wsl",
    "xargs",
  ]
  /// Programs that run their first operand.
  private static let runners: Set<String> = [
    "ash", "bash", "busybox", "bun", "chroot", "command", "dash", "deno", "doas", "env", "exec",
    "fish", "flock",
    "ionice", "ksh", "lua", "nice", "node", "nohup", "perl", "php", "pwsh", "python", "python3",
    "ruby", "runuser",
    "setsid", "sh", "stdbuf", "strace", "sudo", "systemd-run", "taskset", "tclsh", "time",
    "timeout", "unshare", "zsh",
  ]
}
