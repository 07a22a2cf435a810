import Dispatch
import HealthChecks

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A short run of another program: its output, and how it ended.
struct ProgramRun: Equatable, Sendable {
  /// The exit status, 0 for success; nil if it did not end in time.
  var status: Int32?
  var output: String

  /// The number of bytes of output that are kept.
  private static let outputBytesMax = 64 << 10

  /// The path of a program by its name, according to `PATH`; nil if there is none.
  static func path(of program: String, in variables: [String: String]) -> String? {
    let folders = (variables["PATH"] ?? "").split(separator: ":")
    let paths = program.contains("/") ? [program] : folders.map { "\($0)/\(program)" }
    return paths.first { isExecutable($0) }
  }

  static func isExecutable(_ path: String) -> Bool {
    var isFolder: Bool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder
      && access(path, X_OK) == 0
  }

  /// The path of a program that was installed with another one: beside it, or in `PATH`.
  static func path(
    of name: String, beside program: String, in variables: [String: String]
  ) -> String? {
    // A user who links one of them need not have linked the other.
    let places = [program, Paths.resolved(program)].compactMap { program in
      program.lastIndex(of: "/").map { String(program[...$0] + name) }
    }
    return places.first { isExecutable($0) } ?? path(of: name, in: variables)
  }

  /// Starts it, and waits for it on a thread of its own.
  ///
  /// - Parameter withErrors: whether its standard error counts, too.
  /// - Returns: nil if it could not be started.
  static func run(
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
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    if withErrors {
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A group of its own, which can be ended with everything that it started.
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    let settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in arguments + settings { free(text) } }
    var pid: pid_t = 0
    let limit = ContinuousClock.now + .seconds(seconds)
    var code: Int32
    repeat {
      code = posix_spawn(
        &pid, program, &actions, &attributes, arguments + [nil], settings + [nil])
      // The file is being written, for example by an upgrade: execve(2).
      if code == ETXTBSY { usleep(1_000) }
    } while code == ETXTBSY && ContinuousClock.now < limit
    close(ends[1])
    guard code == 0 else { return nil }
    return wait(for: pid, reading: ends[0], seconds: seconds)
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
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    // As shells count: a signal's number above 128.
    let signal = status & 0x7F
    let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    return ProgramRun(
      status: isInTime ? code : nil, output: String(decoding: bytes, as: UTF8.self))
  }
}
