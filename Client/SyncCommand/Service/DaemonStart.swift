import Basics
import Operations
import Platform

/// How a daemon was started by hand, so that the next one is started in the same way.
struct DaemonStart: Equatable, Sendable {
  /// The program, absolute, and its options.
  var words: [String]
  /// The folder in which it was started; its options may be relative to it.
  var folder: String
  var variables: [String: String]

  /// Reads it if the system shows it; proc_pid_cmdline(5), proc_pid_environ(5).
  ///
  /// - Throws: `CommandFailure` if it does not, or if a folder or program no longer exists. A
  ///   daemon with other options would be a different one.
  init(of process: Int) throws(CommandFailure) {
    let place = "/proc/\(process)"
    if let files = Self.files(of: place), files != Self.files(of: "/proc/self") {
      throw CommandFailure(
        code: "otherContainer",
        message:
          "Process \(process) runs in another container, where this command cannot start a "
          + "daemon. Run it in that container. Or stop the daemon when no agent is running "
          + "(kill -USR1 \(process)), and start it there.",
        exitCode: ExitStatus.failed)
    }
    guard let words = Self.texts(of: place + "/cmdline"), let program = words.first,
      let variables = Self.texts(of: place + "/environ"),
      let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: place + "/cwd"),
      FileManager.default.fileExists(atPath: folder)
    else {
      throw CommandFailure(
        code: "noService",
        message: "Process \(process) does not belong to the service, and its command line cannot "
          + "be read here. Stop it when no agent is running (kill -USR1 \(process)), or now "
          + "(kill \(process)), and start cospoold with its options.",
        exitCode: ExitStatus.failed)
    }
    self.folder = folder
    self.variables = Dictionary(
      variables.compactMap { text in
        text.firstIndex(of: "=").map { (String(text[..<$0]), String(text[$0...].dropFirst())) }
      }, uniquingKeysWith: { first, _ in first })
    let isRelative = program.contains("/") && !program.hasPrefix("/")
    let path = isRelative ? folder + "/" + program : program
    guard let found = ProgramRun.path(of: path, in: self.variables) else {
      throw CommandFailure(
        code: "noProgram",
        message: "\(path), the program of process \(process), no longer exists. Install it there, "
          + "or stop the process (kill -USR1 \(process)) and start cospoold with its options.",
        exitCode: ExitStatus.failed)
    }
    self.words = [found] + words.dropFirst()
  }

  /// Whether systemd, a user's or the machine's, started a process itself, and so starts the next
  /// one. It names the process that it started in the environment, which that process's children
  /// inherit (systemd.exec(5), `SYSTEMD_EXEC_PID`).
  static func isOfSystemd(_ process: Int) -> Bool {
    texts(of: "/proc/\(process)/environ")?.contains("SYSTEMD_EXEC_PID=\(process)") == true
  }

  /// The tree of files that a process sees; mount_namespaces(7).
  private static func files(of place: String) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: place + "/ns/mnt")
  }

  /// The command that starts the next one, whose folder differs from this program's.
  var command: [String] { ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, folder] + words }

  /// Texts that each end at a zero byte; nil if none can be read.
  private static func texts(of path: String) -> [String]? {
    guard let bytes = try? Data(contentsOf: URL(filePath: path)), !bytes.isEmpty else { return nil }
    var texts: [String] = []
    for part in bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast() {
      guard let text = String(data: part, encoding: .utf8) else { return nil }
      texts.append(text)
    }
    return texts
  }
}
