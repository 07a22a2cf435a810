import Foundation
import Operations

/// The shell command after a backup: it copies the backup elsewhere, or reports to a monitor.
///
/// Root makes backups as the account of the data, and an intruder may control that account. So the
/// command gets nothing of root's terminal and environment: it runs in its own session, reads
/// `/dev/null`, writes to a pipe, and has five variables.
package enum BackupHook {
  /// Runs the command, and waits for its end. Its output goes to this process's standard error,
  /// line by line, without terminal control characters. A signal that ends this process ends the
  /// command.
  ///
  /// - Parameters:
  ///   - folder: the folder of backups, an absolute path.
  ///   - backup: the name of the backup that was made.
  ///   - home: the home of the account that runs the command, if the environment names another's.
  /// - Throws: `.failed` if no shell can be started, or the command does not exit with 0.
  package static func run(
    _ command: String, folder: String, backup: String, home: String? = nil
  ) throws(SyncServerError) {
    let known = ProcessInfo.processInfo.environment
    let variables = [
      "PATH": known["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
      "HOME": home ?? known["HOME"] ?? "/", "LANG": known["LANG"] ?? "C.UTF-8",
      "COSPOOL_BACKUP_FOLDER": folder, "COSPOOL_BACKUP_NAME": backup,
    ]
    let shell = try start(["/bin/sh", "-c", command], variables: variables)
    defer { close(shell.output) }
    let status = forwardingSignals(to: shell.id) { relay(shell.output, until: shell.id) }
    guard status == 0 else {
      // wait(2): the low bits hold the signal, the next ones the exit code.
      let end = status & 0x7F == 0 ? "\(status >> 8 & 0xFF)" : "signal \(status & 0x7F)"
      throw SyncServerError(
        .failed, "Backup \(backup) was made, but the command after it ended with \(end): \(command)"
      )
    }
  }

  private static func start(
    _ words: [String], variables: [String: String]
  ) throws(SyncServerError) -> (id: pid_t, output: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw unstarted(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    // Root's shell may have left more files open than the standard three.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? [] {
      if let open = Int32(name), open > STDERR_FILENO { _ = fcntl(open, F_SETFD, FD_CLOEXEC) }
    }
    let files = ChildProcess.Files(hasNoInput: true, output: ends[1], errors: ends[1])
    let (id, code) = ChildProcess.start(
      words, variables: variables, files: files, apart: .session)
    guard code == 0 else {
      close(ends[0])
      throw unstarted(code)
    }
    return (id, ends[0])
  }

  private static func unstarted(_ number: Int32) -> SyncServerError {
    SyncServerError(.failed, "No shell can be started: \(String(cString: strerror(number))).")
  }

  /// Forwards the command's output until its shell ends. A process that the shell leaves behind may
  /// hold the pipe forever, so it does not count.
  ///
  /// - Returns: the shell's status, as wait(2) gives it.
  private static func relay(_ output: Int32, until id: pid_t) -> Int32 {
    var (status, hasEnded): (Int32, Bool) = (0, false)
    var lines = HookLines()
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      if !hasEnded { hasEnded = waitpid(id, &status, WNOHANG) == id }
      var watched = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&watched, 1, hasEnded ? 0 : 100) > 0 else {
        if hasEnded { break }
        continue
      }
      let count = read(output, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      lines.take(buffer[..<count])
    }
    lines.finish()
    while !hasEnded {
      let ended = waitpid(id, &status, 0)
      hasEnded = ended == id || (ended < 0 && errno != EINTR)
    }
    return status
  }

  /// Runs `body` while signals that would end this process end another process's session instead.
  private static func forwardingSignals(to id: pid_t, during body: () -> Int32) -> Int32 {
    let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { kill(-id, number) }
      source.resume()
      return (number, source)
    }
    defer {
      for (number, source) in sources {
        source.cancel()
        signal(number, SIG_DFL)
      }
    }
    return body()
  }
}

/// Splits a program's output into lines for standard error.
private struct HookLines {
  /// Longer lines are broken at this length.
  private static let bytesMax = 8_192

  private var line: [UInt8] = []

  mutating func take(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      // A progress display returns to the start of its line.
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        write()
      } else {
        line.append(byte)
        if line.count == Self.bytesMax { write() }
      }
    }
  }

  mutating func finish() {
    if !line.isEmpty { write() }
  }

  private mutating func write() {
    let parts = String(decoding: line, as: UTF8.self).split(
      separator: "\t", omittingEmptySubsequences: false)
    let shown = parts.map { ShownName.text(String($0)) }.joined(separator: "\t")
    try? FileHandle.standardError.write(contentsOf: Data((shown + "\n").utf8))
    line = []
  }
}
