import AgentFormats
import Foundation

/// A command with a placeholder for the prompt. Its words are split as a shell would split them,
/// but nothing is expanded and no shell runs.
///
/// The prompt reaches the agent as data: `{}` is a word of its own, or the value of `--prompt={}`
/// or another option whose name shows that it takes a text. It must not be in a place where a known
/// program takes a script, another program, or a file to run. How an unknown program uses its
/// argument is not checked.
struct CommandTemplate: Hashable, Sendable {
  /// The placeholder of the prompt.
  static let placeholder = "{}"

  private let words: [String]

  /// - Throws: why the command cannot be used, and how to correct it.
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
  /// - Throws: if the agent would read the prompt as an option, or if no argument can hold it.
  func words(with prompt: String) throws(PromptFault) -> [String] {
    // A list begins with a hyphen and a blank, unlike any option.
    let start = Array(prompt.utf8.prefix(2))
    // Compared as bytes: for Swift, a hyphen with a combining mark is a different character, but
    // for a program it is a hyphen.
    let isOption =
      start.first == UInt8(ascii: "-") && start.dropFirst().first != UInt8(ascii: " ")
    if isOption, let index = words.firstIndex(of: CommandTemplate.placeholder), !endsOptions(index)
    {
      throw PromptFault(
        reason:
          "begins with - and would be read as an option: write -- right before {}, if the "
          + "agent supports that; or")
    }
    let filled = words.map {
      $0.replacingOccurrences(of: CommandTemplate.placeholder, with: prompt)
    }
    if takesArgument { try PromptFault.check(filled) }
    return filled
  }

  private static let fault = CommandLineFault(
    reason:
      "{} must be a separate word, or part of an option such as --prompt={}. It cannot be "
      + "part of a script or the program's name, because a prompt could then run commands. Or "
      + "leave {} out: the command gets the prompt on standard input, which is a file "
      + "(/dev/stdin)"
  )

  /// `--prompt={}`, `--system-prompt={}` and similar options. Other options of many programs run
  /// their values.
  private static func isNamed(_ word: String) -> Bool {
    guard word.hasPrefix("--"), word.hasSuffix("=" + placeholder) else { return false }
    let name = word.dropFirst(2).dropLast(placeholder.count + 1)
    guard let noun = name.split(separator: "-").last else { return false }
    return textNames.contains(String(noun))
      && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
  }

  /// Whether the text after some words is run: as a script, a program or a file of commands.
  private static func isRun(behind words: ArraySlice<String>) -> Bool {
    guard !words.isEmpty else { return true }
    // The words after a script are its arguments, not programs.
    var hasScript = false
    for index in words.indices {
      let word = words[index]
      let behind = words[(index + 1)...]
      if isScriptOption(word) {
        // The script must follow the option directly.
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

  /// The name of a program without its folder and its version, in lower case: `python` of
  /// `/usr/bin/python3.11`, `bash` of `Bash-5.2.exe`.
  private static func program(_ word: String) -> String {
    var name = word.split(separator: "/").last.map { $0.lowercased() } ?? ""
    if name.hasSuffix(".exe") { name.removeLast(4) }
    let version = name.reversed().prefix { $0.isNumber || $0 == "." || $0 == "-" }
    let plain = name.prefix(name.count - version.count)
    return plain.isEmpty ? name : String(plain)
  }

  /// Whether the words after a program include what it runs: the first word that is neither an
  /// option nor the value of one; for some programs, a later one.
  private static func hasOperand(_ words: ArraySlice<String>, of program: String) -> Bool {
    var missing = operands[program] ?? 1
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

  /// `-c`, `-lc`, `-e`, `--command` and similar options.
  private static func isScriptOption(_ word: String) -> Bool {
    guard word.hasPrefix("-"), let last = word.last else { return false }
    // Some programs have long options after one hyphen, also in capitals.
    if scriptNames.contains(String(word.drop { $0 == "-" }).lowercased()) { return true }
    guard !word.hasPrefix("--") else { return false }
    return "ceErS".contains(last) && word.dropFirst().allSatisfy(\.isLetter)
  }

  /// An option, a number such as a time, or a variable.
  private static func isNoOperand(_ word: String) -> Bool {
    word.hasPrefix("-") || word.hasPrefix("+") || word.first?.isNumber == true || word.contains("=")
  }

  /// Whether the agent reads no option at a place: `--` is directly before it, and is not a
  /// script's argument.
  private func endsOptions(_ index: Int) -> Bool {
    index > 0 && words[index - 1] == "--"
      && !words[..<index].contains(where: CommandTemplate.isScriptOption)
  }

  /// The ends of the names of options that take a text.
  private static let textNames: Set<String> = [
    "ask", "content", "description", "goal", "input", "instruction", "instructions", "issue",
    "message", "msg", "prompt", "query", "question", "request", "task", "text",
  ]
  /// Options that take a script.
  private static let scriptNames: Set<String> = [
    "cmd", "command", "eval", "eval-command", "ex", "exec", "execute", "init-file", "rcfile",
    "split-string",
  ]
  /// Programs that make a script of all of their arguments, or have options that run or write their
  /// values.
  private static let joining: Set<String> = [
    "crontab", "curl", "emacs", "entr", "eval", "find", "gdb", "git", "lldb", "make", "mosh",
    "mysql", "nc", "ncat", "nix-shell", "nvim", "parallel", "psql", "rsh", "rsync", "scp",
    "screen", "script", "sftp", "sg", "socat", "sqlite", "ssh", "start-stop-daemon", "su",
    "systemd-nspawn", "tar", "tmux", "vi", "vim", "watch", "wget", "wsl", "xargs", "zip",
  ]
  /// Programs that run their first operand, as a program, a file or a script; or a later one: see `operands`.
  private static let runners: Set<String> = [
    "apptainer", "ash", "asdf", "awk", "bash", "bun", "bunx", "busybox", "bwrap", "caffeinate",
    "catchsegv", "chpst", "chroot", "chrt", "conda", "csh", "dash", "dbus-run-session", "deno",
    "direnv", "distrobox", "doas", "docker", "dotenv", "dotnet", "dumb-init", "eatmydata",
    "elvish", "env", "expect", "faketime", "fakeroot", "firejail", "fish", "flatpak", "flock",
    "gawk", "gosu", "guile", "guix", "hyperfine", "ionice", "java", "julia", "ksh", "kubectl",
    "ld-linux-aarch64.so", "ld-linux-x86-64.so", "ld.so", "loksh", "ltrace", "lua", "lxc",
    "machinectl", "mawk", "mise", "mksh", "nawk", "nerdctl", "nice", "nix", "node", "nodejs",
    "nohup", "npm", "npx", "nsenter", "numactl", "oksh", "osascript", "perl", "php", "pipenv",
    "pipx", "pkexec", "pnpm", "podman", "poetry", "posh", "powershell", "proot", "proxychains",
    "pwsh", "pypy", "python", "rbash", "rscript", "ruby", "runcon", "runuser", "s6-setuidgid",
    "sash", "sed", "setarch", "setpriv", "setsid", "setuidgid", "sh", "singularity", "snap",
    "stdbuf", "strace", "su-exec", "sudo", "systemd-run", "taskset", "tclsh", "tcsh", "time",
    "timeout", "tini", "torsocks", "toybox", "unbuffer", "unshare", "uv", "uvx", "valgrind",
    "wish", "xonsh", "xvfb-run", "yarn", "yash", "zsh",
  ]
  /// Those of them that run a later operand: after a user, a file, or a verb and a container.
  private static let operands: [String: Int] = [
    "apptainer": 3, "asdf": 2, "bwrap": 3, "chroot": 2, "conda": 2, "direnv": 3, "distrobox": 2,
    "docker": 3, "faketime": 2, "flatpak": 2, "flock": 2, "gosu": 2, "guix": 2, "kubectl": 3,
    "lxc": 3, "machinectl": 3, "mise": 2, "nerdctl": 3, "nix": 2, "npm": 2, "pipenv": 2, "pipx": 2,
    "pnpm": 2, "podman": 3, "poetry": 2, "runcon": 2, "s6-setuidgid": 2, "setarch": 2,
    "setuidgid": 2, "singularity": 3, "snap": 2, "su-exec": 2, "uv": 2, "yarn": 2,
  ]
  /// Options of these programs that take the next word, which could look like the program to run.
  private static let valued: [String: Set<String>] = [
    "awk": ["-F", "-v"], "bash": ["-o", "+o", "-O", "+O"], "chpst": ["-u", "-U", "-b", "-e"],
    "dash": ["-o", "+o"], "doas": ["-u"],
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
