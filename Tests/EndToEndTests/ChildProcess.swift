import Foundation
import Synchronization

/// A process that a test started. A separate thread reads its output, line by line.
final class ChildProcess: Sendable {
  enum Exit: Hashable, Sendable {
    case code(Int32)
    case signal(Int32)
  }

  let name: String
  let id: pid_t
  private let state = Mutex(State())

  private struct State {
    var standardOutput: [UInt8] = []
    var standardError: [UInt8] = []
    var exit: Exit?
    var observers: [Int: AsyncStream<Void>.Continuation] = [:]
    var observersMade = 0

    func notify() {
      for observer in observers.values { observer.yield() }
    }
  }

  /// Starts `executable`; `input` is its standard input.
  init(
    _ name: String, executable: String, arguments: [String], environment: [String: String],
    input: String? = nil
  ) throws {
    self.name = name
    let output = try DescriptorPair()
    let errors = try DescriptorPair()
    let feed = try DescriptorPair()
    id = try Spawn.start(
      executable: executable, arguments: arguments, environment: environment,
      input: feed.reading, output: output.writing, errors: errors.writing)
    for descriptor in [feed.reading, output.writing, errors.writing] { close(descriptor) }
    let (bytes, writing) = (Array((input ?? "").utf8), feed.writing)
    Thread.detachNewThread {
      // A program that ends before it has read everything must not end the tests.
      signal(SIGPIPE, SIG_IGN)
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
        guard count > 0 else { break }
        rest = rest.dropFirst(count)
      }
      close(writing)
    }
    Thread.detachNewThread { [self] in
      read(output: output.reading, errors: errors.reading)
      reap()
    }
  }

  /// Its standard output so far.
  var standardOutput: String {
    state.withLock { String(decoding: $0.standardOutput, as: UTF8.self) }
  }

  var standardError: String {
    state.withLock { String(decoding: $0.standardError, as: UTF8.self) }
  }

  var exit: Exit? { state.withLock(\.exit) }

  /// Its whole output, for failure messages.
  var transcript: String {
    let exit = exit.map { "\($0)" } ?? "running"
    return "--- \(name) (\(exit))\n\(standardOutput)\(standardError)"
  }

  /// Sends a signal, unless it has ended.
  func send(_ signal: Int32) {
    state.withLock { state in
      guard state.exit == nil else { return }
      kill(id, signal)
    }
  }

  /// The first complete line on either stream that contains `text`.
  func line(holding text: String, within seconds: Double = 120) async throws -> String {
    try await value(within: seconds, waitingFor: "a line with \"\(text)\"") { state in
      for bytes in [state.standardOutput, state.standardError] {
        let lines = String(decoding: bytes, as: UTF8.self)
          .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        if let line = lines.first(where: { $0.contains(text) }) { return .success(String(line)) }
      }
      return state.exit == nil ? nil : .failure
    }
  }

  /// Waits until it wrote `text` to its standard output, anywhere in a line.
  func output(holding text: String, within seconds: Double = 120) async throws {
    try await value(within: seconds, waitingFor: "\"\(text)\"") { state in
      let output = String(decoding: state.standardOutput, as: UTF8.self)
      return output.contains(text) ? .success(()) : state.exit == nil ? nil : .failure
    }
  }

  /// Its exit.
  @discardableResult
  func ended(within seconds: Double = 120) async throws -> Exit {
    try await value(within: seconds, waitingFor: "its end") { state in
      state.exit.map { .success($0) }
    }
  }

  private enum Finding<Value: Sendable>: Sendable {
    case success(Value)
    /// It ended, so the value never comes.
    case failure
  }

  private func value<Value: Sendable>(
    within seconds: Double, waitingFor what: String,
    _ find: @Sendable @escaping (borrowing State) -> Finding<Value>?
  ) async throws -> Value {
    let (changes, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let observer = state.withLock { state in
      state.observersMade += 1
      state.observers[state.observersMade] = continuation
      return state.observersMade
    }
    defer { state.withLock { _ = $0.observers.removeValue(forKey: observer) } }
    continuation.yield()
    let finding = try await bounded(seconds) { [self] in
      for await _ in changes {
        if let finding = state.withLock({ find($0) }) { return finding }
      }
      return .failure
    }
    switch finding {
    case .success(let value): return value
    case .failure: throw ProcessFailure("\(name) ended before \(what)\n\(transcript)")
    case nil: throw ProcessFailure("waited \(seconds) s for \(what) of \(name)\n\(transcript)")
    }
  }

  // MARK: The reading thread

  private func read(output: Int32, errors: Int32) {
    var open = [output, errors]
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !open.isEmpty {
      var polled = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else { break }
      for entry in polled where entry.revents != 0 {
        let count = Foundation.read(entry.fd, &buffer, buffer.count)
        if count > 0 {
          state.withLock { state in
            if entry.fd == output {
              state.standardOutput += buffer[..<count]
            } else {
              state.standardError += buffer[..<count]
            }
            state.notify()
          }
        } else if count == 0 || errno != EINTR {
          close(entry.fd)
          open.removeAll { $0 == entry.fd }
        }
      }
    }
  }

  /// Waits for the end. The process is reaped under the lock, so that no signal can reach another
  /// process with the same id.
  private func reap() {
    var information = siginfo_t()
    while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    state.withLock { state in
      var status: Int32 = 0
      while waitpid(id, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7F
      state.exit = signal == 0 ? .code((status >> 8) & 0xFF) : .signal(signal)
      state.notify()
    }
  }
}

/// A process did not do what the test waited for.
struct ProcessFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

/// The result of `operation`; nil if it takes longer than `seconds`; it is cancelled then.
func bounded<Value: Sendable>(
  _ seconds: Double, _ operation: @Sendable @escaping () async throws -> Value
) async throws -> Value? {
  try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await operation() }
    group.addTask {
      try await Task.sleep(for: .seconds(seconds))
      return nil
    }
    let first = try await group.next()
    group.cancelAll()
    return first ?? nil
  }
}
