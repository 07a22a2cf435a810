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

/// `write` of the system; the name alone would mean the method below.
private let unistdWrite: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { write($0, $1, $2) }

/// The entry point.
@main
struct Main {
  static func main() async {
    // `cospool queue list | head -1` must end quietly, and with the exit code of the command.
    signal(SIGPIPE, SIG_IGN)
    let runner = CommandRunner(environment: .current())
    let outcome = await runner.run(Array(CommandLine.arguments.dropFirst()))
    let isComplete = write(outcome.output, to: STDOUT_FILENO)
    write(outcome.errors, to: STDERR_FILENO)
    exit(outcome.exitCode == 0 && !isComplete ? 7 : outcome.exitCode)
  }

  /// Writes a line.
  ///
  /// - Returns: false where not all of it could be written, other than to a closed pipe.
  @discardableResult
  private static func write(_ text: String, to file: Int32) -> Bool {
    guard !text.isEmpty else { return true }
    var bytes = Array((text.hasSuffix("\n") ? text : text + "\n").utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { unistdWrite(file, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        return errno == EPIPE
      }
      bytes = bytes.dropFirst(count)
    }
    return true
  }
}
