import Basics
import Operations
import Platform

/// A program that continues when this one and its terminal have ended.
struct DetachedProcess: Sendable {
  var id: pid_t
  /// The file for its output.
  var log: String
  /// The length of that file when the program began.
  private var logBytes: off_t

  /// Starts it in a session of its own, with its output at the end of a file that only its user can
  /// read.
  ///
  /// - Throws: `CommandFailure` if the file cannot be written, or if the program cannot be started.
  static func start(
    _ words: [String], variables: [String: String], log: String
  ) throws(CommandFailure) -> DetachedProcess {
    let file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unwritable(log, errorNumber: errno) }
    defer { close(file) }
    let bytes = bytes(of: log)
    let files = ChildProcess.Files(hasNoInput: true, output: file, errors: file)
    let (id, code) = ChildProcess.start(
      words, variables: variables, files: files, apart: .session)
    guard code == 0 else {
      throw CommandFailure(
        code: "noProgram",
        message: "\(words[0]) cannot be started: \(String(cString: strerror(code))).",
        exitCode: ExitStatus.failed)
    }
    return DetachedProcess(id: id, log: log, logBytes: bytes)
  }

  /// Its output; an earlier process may have written the text before it in the file.
  private var written: String {
    let bytes = ((try? Data(contentsOf: URL(filePath: log))) ?? Data()).dropFirst(Int(logBytes))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The first complete line with text.
  func line(holding text: String) -> Substring? {
    let written = written
    guard let found = written.firstRange(of: text),
      let end = written[found.upperBound...].firstIndex(of: "\n")
    else { return nil }
    let start = written[..<found.lowerBound].lastIndex(of: "\n").map(written.index(after:))
    return written[(start ?? written.startIndex)..<end]
  }

  /// nil if it wrote nothing.
  var lastLine: String? { written.split(separator: "\n").last.map(String.init) }

  /// Where a user finds its output.
  var trace: String {
    guard Self.bytes(of: log) <= logBytes else { return "Its output is in \(log)." }
    var disk = statvfs()
    return statvfs(log, &disk) == 0 && disk.f_bavail == 0
      ? "The disk of \(log) is full. Free space there."
      : "It wrote nothing to \(log)."
  }

  private static func bytes(of path: String) -> off_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_size : 0
  }

  /// Whether it has ended; only for a program that this process started.
  var hasEnded: Bool {
    var status: Int32 = 0
    return waitpid(id, &status, WNOHANG) != 0
  }
}
