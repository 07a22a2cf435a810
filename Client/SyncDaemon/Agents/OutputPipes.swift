import Foundation
import Synchronization
import SystemPackage

/// The two pipes that an agent's process writes to, read by a thread of their own, which lives as
/// long as they do.
///
/// Dispatch sources would save the thread. On Linux, libdispatch sometimes reads freed memory when
/// the source of a pipe is cancelled while its other end hangs up. Every turn ends like that, and a
/// daemon died about once in four thousand turns.
final class OutputPipes: Sendable {
  /// The pipe from which a piece came.
  enum Stream: Sendable { case output, errors }

  /// The ends for the process.
  struct Writers: Sendable {
    var output: FileDescriptor
    var errors: FileDescriptor
  }

  private struct State {
    var writers: Writers?
    /// When reading ends although a process could still write.
    var deadline: ContinuousClock.Instant?
    var isReading = false
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// The largest piece, in bytes.
  private static let pieceSize = 65_536
  /// How many times a pipe is read after the deadline: enough for its largest buffer, 1 MiB.
  private static let lastPieces = 16

  private let readers: [(end: FileDescriptor, stream: Stream)]
  /// A byte here ends the thread's waiting.
  private let wake: (reader: FileDescriptor, writer: FileDescriptor)
  private let receive: @Sendable (Stream, ArraySlice<UInt8>) -> Void
  private let ended: @Sendable (Stream) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - receive: receives the bytes in order, on the thread of these pipes. Until it returns, no
  ///     more bytes are read, and a process that keeps writing waits.
  ///   - ended: is called on that thread when no process can write to a pipe any more.
  /// - Throws: the system's error if no descriptor is left.
  init(
    receive: @escaping @Sendable (Stream, ArraySlice<UInt8>) -> Void,
    ended: @escaping @Sendable (Stream) -> Void = { _ in }
  ) throws {
    var made: [(reader: FileDescriptor, writer: FileDescriptor)] = []
    do {
      for _ in 0..<3 { made.append(try Self.pipe()) }
    } catch {
      for (reader, writer) in made { Self.close(reader, writer) }
      throw error
    }
    for end in [made[0].reader, made[1].reader, made[2].reader, made[2].writer] {
      _ = fcntl(end.rawValue, F_SETFL, O_NONBLOCK)
    }
    readers = [(made[0].reader, .output), (made[1].reader, .errors)]
    wake = made[2]
    self.receive = receive
    self.ended = ended
    state = Mutex(State(writers: Writers(output: made[0].writer, errors: made[1].writer)))
  }

  /// Begins to read. Call it when the process has been started, which does not wait for the thread.
  /// Bytes that it writes before wait in the pipes.
  ///
  /// - Throws: the system's error if no thread is left.
  func read() throws {
    try Self.startThread { [self] in readAll() }
    state.withLock { $0.isReading = true }
  }

  deinit { Self.close(wake.reader, wake.writer) }

  /// The ends for the process, which the caller closes; nil after they were taken.
  func takeWriters() -> Writers? {
    state.withLock { state in
      defer { state.writers = nil }
      return state.writers
    }
  }

  /// Waits until no process can write, at most for `limit`; then the bytes in the pipes are read,
  /// and none after them. Call it once, whether or not the pipes were read.
  func finish(within limit: Duration) async {
    if let ends = takeWriters() { Self.close(ends.output, ends.errors) }
    guard state.withLock({ $0.isReading }) else {
      for reader in readers { Self.close(reader.end) }
      return
    }
    state.withLock { $0.deadline = .now + limit }
    // A full pipe wakes the thread, too.
    _ = try? wake.writer.writeAll([0])
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  // MARK: - The thread

  private func readAll() {
    var open = readers
    var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
    var piecesLeft = Self.lastPieces
    while !open.isEmpty {
      let left = state.withLock { $0.deadline }.map { max(.zero, $0 - .now) }
      if left == .zero {
        guard piecesLeft > 0 else { break }
        piecesLeft -= 1
      }
      guard let ready = wait(for: open.map(\.end), atMost: left) else { break }
      open.removeAll { reader in
        guard ready.contains(reader.end) else { return false }
        guard let count = Self.read(reader.end, into: &buffer) else { return false }
        guard count == 0 else {
          receive(reader.stream, buffer[..<count])
          return false
        }
        Self.close(reader.end)
        ended(reader.stream)
        return true
      }
    }
    for reader in open { Self.close(reader.end) }
    let waiting = state.withLock { state in
      defer { (state.isOver, state.waiting) = (true, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// The ends that can be read without waiting; empty if there was another reason to wake, nil if
  /// the time has passed and no bytes wait there.
  private func wait(for ends: [FileDescriptor], atMost limit: Duration?) -> [FileDescriptor]? {
    var polled = (ends + [wake.reader]).map {
      pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0)
    }
    // Rounded up, so that the time has passed when the wait ends.
    let milliseconds = limit.map { Int32(clamping: Int64(($0 / .milliseconds(1)).rounded(.up))) }
    let count = poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
    guard count >= 0 else { return errno == EINTR ? [] : nil }
    if count == 0 { return limit == .zero ? nil : [] }
    if polled[ends.count].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 16)
      _ = Self.read(wake.reader, into: &bytes)
    }
    return zip(ends, polled).filter { $0.1.revents != 0 }.map(\.0)
  }

  /// The number of bytes read; 0 at the end of the stream, nil if no bytes wait now.
  private static func read(_ end: FileDescriptor, into buffer: inout [UInt8]) -> Int? {
    do {
      return try buffer.withUnsafeMutableBytes { try end.read(into: $0) }
    } catch Errno.wouldBlock, Errno.interrupted {
      return nil
    } catch {
      return 0
    }
  }

  // MARK: - The system

  private static func pipe() throws -> (reader: FileDescriptor, writer: FileDescriptor) {
    let (reader, writer) = try FileDescriptor.pipe()
    // Agents that are started meanwhile must not inherit an end of it.
    for end in [reader, writer] { _ = fcntl(end.rawValue, F_SETFD, FD_CLOEXEC) }
    return (reader, writer)
  }

  private static func close(_ ends: FileDescriptor...) {
    // A descriptor that cannot be closed is left.
    for end in ends { try? end.close() }
  }

  /// Foundation's threads do not report when none is left.
  private static func startThread(_ body: @escaping @Sendable () -> Void) throws {
    final class Work: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, nil,
      { context in
        let context: UnsafeMutableRawPointer? = context
        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, work.toOpaque())
    guard code == 0 else {
      work.release()
      throw Errno(rawValue: code)
    }
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
  }
}
