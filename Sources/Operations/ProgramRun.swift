import Dispatch
import Platform

/// A short run of another program: its output, and how it ended.
package struct ProgramRun: Equatable, Sendable {
  /// The exit status, 0 for success; nil if it did not end in time.
  package var status: Int32?
  package var output: String

  /// The number of bytes of output that are kept.
  private static let outputBytesMax = 64 << 10

  /// The path of a program by its name, according to `PATH`; nil if there is none.
  package static func path(of program: String, in variables: [String: String]) -> String? {
    let folders = (variables["PATH"] ?? "").split(separator: ":")
    let paths = program.contains("/") ? [program] : folders.map { "\($0)/\(program)" }
    return paths.first { isExecutable($0) }
  }

  package static func isExecutable(_ path: String) -> Bool {
    var isFolder: Bool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder
      && access(path, X_OK) == 0
  }

  /// The path of a program that was installed with another one: beside it, or in `PATH`.
  package static func path(
    of name: String, beside program: String, in variables: [String: String]
  ) -> String? {
    // A user may have linked only one of the two.
    let target = URL(filePath: program).resolvingSymlinksInPath().path(percentEncoded: false)
    let places = [program, target].compactMap { program in
      program.lastIndex(of: "/").map { String(program[...$0] + name) }
    }
    return places.first { isExecutable($0) } ?? path(of: name, in: variables)
  }

  /// Starts it, and waits for it on a thread of its own.
  ///
  /// - Parameter withErrors: whether its standard error counts, too.
  /// - Returns: nil if it could not be started.
  package static func run(
    _ words: [String], variables: [String: String], seconds: Double, withErrors: Bool = false
  ) async -> ProgramRun? {
    await Deadline.blocking {
      start(words, variables: variables, seconds: seconds, withErrors: withErrors)
    }
  }

  private static func start(
    _ words: [String], variables: [String: String], seconds: Double, withErrors: Bool
  ) -> ProgramRun? {
    guard let program = words.first.flatMap({ path(of: $0, in: variables) }) else { return nil }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    let limit = ContinuousClock.now + .seconds(seconds)
    let silence = withErrors ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { if silence >= 0 { close(silence) } }
    let files = ChildProcess.Files(
      hasNoInput: true, output: ends[1], errors: withErrors ? ends[1] : silence)
    var started: (id: pid_t, error: Int32)
    repeat {
      // Its own group, which can be ended together with everything that it started.
      started = ChildProcess.start(
        [program] + words.dropFirst(), variables: variables, files: files, apart: .group)
      // The file is being written, for example by an upgrade: execve(2).
      if started.error == ETXTBSY { usleep(1_000) }
    } while started.error == ETXTBSY && ContinuousClock.now < limit
    close(ends[1])
    guard started.error == 0 else { return nil }
    return wait(for: started.id, reading: ends[0], seconds: seconds)
  }

  private static func wait(for pid: pid_t, reading end: Int32, seconds: Double) -> ProgramRun {
    let limit = ContinuousClock.now + .seconds(seconds)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    var isInTime = true
    while isInTime {
      let left = limit - .now
      let milliseconds =
        left.components.seconds * 1_000
        + left.components.attoseconds / 1_000_000_000_000_000
      var watched = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      guard milliseconds > 0, poll(&watched, 1, Int32(clamping: milliseconds)) != 0 else {
        isInTime = false
        continue
      }
      let count = read(end, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer[..<min(count, max(0, outputBytesMax - bytes.count))]
    }
    if !isInTime { kill(-pid, SIGKILL) }
    let code = ChildProcess.end(of: pid)
    return ProgramRun(
      status: isInTime ? code : nil, output: String(decoding: bytes, as: UTF8.self))
  }
}
