import Dispatch
import Foundation
import Synchronization
import SystemPackage

/// A pipe that a process writes to; what comes is handed out in pieces, on the queue, in order.
final class BytePipe: Sendable {
  private struct State {
    var writer: FileDescriptor?
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let queue: DispatchQueue
  // Dispatch objects may be used from any thread; their protocol just does not say so.
  nonisolated(unsafe) private let source: any DispatchSourceRead
  private let reader: FileDescriptor
  private let receive: @Sendable (ArraySlice<UInt8>) -> Void
  private let state: Mutex<State>

  /// - Throws: the system's error where there is no descriptor left.
  init(
    on queue: DispatchQueue, receive: @escaping @Sendable (ArraySlice<UInt8>) -> Void
  ) throws {
    let (reader, writer) = try FileDescriptor.pipe()
    // Agents that are started meanwhile must not hold an end of it.
    for end in [reader, writer] { _ = fcntl(end.rawValue, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(reader.rawValue, F_SETFL, O_NONBLOCK)
    self.queue = queue
    self.reader = reader
    self.receive = receive
    state = Mutex(State(writer: writer))
    source = DispatchSource.makeReadSource(fileDescriptor: reader.rawValue, queue: queue)
    source.setEventHandler { [weak self] in self?.readable() }
    source.setCancelHandler { close(reader.rawValue) }
    source.activate()
  }

  /// The end for the process. Whoever takes it closes it; nil after it was taken.
  func takeWriter() -> FileDescriptor? {
    state.withLock { state in
      defer { state.writer = nil }
      return state.writer
    }
  }

  /// Waits until nobody can write any more, for so long at most.
  func finish(within limit: Duration) async {
    if let unused = takeWriter() { close(unused.rawValue) }
    let (seconds, attoseconds) = limit.components
    let delay = Double(seconds) + Double(attoseconds) / 1e18
    queue.asyncAfter(deadline: .now() + delay) { self.end() }
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiting.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func readable() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    // A bounded number of times, so that a flood of output leaves room for the rest.
    for _ in 0..<16 {
      let count = buffer.withUnsafeMutableBytes { read(reader.rawValue, $0.baseAddress, $0.count) }
      if count > 0 {
        receive(buffer[..<count])
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        return end()
      } else if errno == EAGAIN {
        return
      }
    }
  }

  /// On the queue: nothing comes any more.
  private func end() {
    let waiting = state.withLock { state in
      defer { (state.isOver, state.waiting) = (true, []) }
      return state.waiting
    }
    source.cancel()
    for continuation in waiting { continuation.resume() }
  }
}
