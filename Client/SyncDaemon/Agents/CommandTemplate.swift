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
    return !name.isEmpty && !scriptNames.contains(name.lowercased())
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
      let program = CommandTemplate.program(word)
      if joining.contains(program) { return true }
      if runners.contains(program), !hasOperand(behind, of: program) { return true }
    }
    return false
  }

  /// The name of a program without its folder and its version: `python` of `/usr/bin/python3.11`.
  private static func program(_ word: String) -> String {
    let name = word.split(separator: "/").last.map(String.init) ?? ""
    let plain = name.prefix(name.count - name.reversed().prefix { $0.isNumber || $0 == "." }.count)
    return plain.isEmpty ? name : String(plain)
  }

  /// Whether what a program runs stands among the words behind it: the first of them that is neither an option nor the
  /// value of one; of some programs, the second.
  private static func hasOperand(_ words: ArraySlice<String>, of program: String) -> Bool {
    var missing = secondOperand.contains(program) ? 2 : 1
    var isValue = false
    for word in words {
      if isNoOperand(word) {
        isValue = valued[program]?.contains(word) == true
      } else if isValue {
        isValue = false
      } else {
        missing -= 1
      }
    }
    return missing <= 0
  }

  /// `-c`, `-lc`, `-e`, `--command` and their like.
  private static func isScriptOption(_ word: String) -> Bool {
    guard word.hasPrefix("-"), let last = word.last else { return false }
    // Some programs have long options behind one hyphen, in capitals too.
    if scriptNames.contains(String(word.drop { $0 == "-" }).lowercased()) { return true }
    guard !word.hasPrefix("--") else { return false }
    return "ceErS".contains(last) && word.dropFirst().allSatisfy(\.isLetter)
  }

  /// An option, a number such as a time, or a variable.
  private static func isNoOperand(_ word: String) -> Bool {
    word.hasPrefix("-") || word.hasPrefix("+") || word.first?.isNumber == true || word.contains("=")
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
    "eval", "mosh", "nix-shell", "parallel", "rsh", "screen", "script", "sg", "ssh", "su", "tmux",
    "watch", "wsl", "xargs",
  ]
  /// Programs that run their first operand, as a program, a file or a script.
  private static let runners: Set<String> = [
    "ash", "awk", "bash", "bun", "bunx", "busybox", "chroot", "chrt", "dash", "dbus-run-session",
    "deno", "doas", "env", "expect", "fakeroot", "firejail", "fish", "flock", "gawk", "gosu",
    "guile", "ionice", "julia", "ksh", "ltrace", "lua", "mawk", "nawk", "nice", "node", "nodejs",
    "nohup", "npx", "numactl", "osascript", "perl", "php", "pkexec", "powershell", "proot", "pwsh",
    "pypy", "python", "Rscript", "ruby", "runuser", "sed", "setarch", "setpriv", "setsid", "sh",
    "stdbuf", "strace", "sudo", "systemd-run", "taskset", "tclsh", "time", "timeout", "unbuffer",
    "unshare", "uvx", "wish", "xvfb-run", "zsh",
  ]
  /// Of them, those that run their second one.
  private static let secondOperand: Set<String> = ["chroot", "flock", "gosu", "setarch"]
  /// Their options that take the next word, where that word looks like what is run.
  private static let valued: [String: Set<String>] = [
    "awk": ["-F", "-v"], "bash": ["-o", "+o", "-O", "+O"], "dash": ["-o", "+o"], "doas": ["-u"],
    "env": ["-u", "--unset", "-C", "--chdir"], "gawk": ["-F", "-v"], "ksh": ["-o", "+o"],
    "lua": ["-l"], "ltrace": ["-o"], "mawk": ["-F", "-v"], "nawk": ["-F", "-v"],
    "node": ["-r", "--require", "--import"], "nodejs": ["-r", "--require", "--import"],
    "npx": ["-p", "--package"], "perl": ["-I"], "php": ["-d"], "pypy": ["-W", "-X"],
    "python": ["-W", "-X"], "ruby": ["-I", "-r"], "runuser": ["-u", "-g", "-G"],
    "setpriv": ["--reuid", "--regid"], "sh": ["-o", "+o"], "strace": ["-o", "-u"],
    "sudo": [
      "-u", "-g", "-U", "-D", "-h", "-p", "-R", "-r", "-t", "--user", "--group", "--chdir",
      "--host", "--prompt", "--chroot", "--role", "--type",
    ],
    "systemd-run": [
      "-p", "-u", "-M", "-H", "--unit", "--property", "--slice", "--machine", "--uid",
    ],
    "timeout": ["-s", "--signal"], "uvx": ["--from", "--with"], "zsh": ["-o", "+o"],
  ]
}
