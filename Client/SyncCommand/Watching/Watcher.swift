import NIOCore
import Synchronization

/// `--watch`: asks again whenever the daemon's event stream reports a change, and shows the answer,
/// until it is stopped.
///
/// Events only wake it up; it always shows a whole answer, so no event can be missed. It waits for
/// a daemon that stops.
struct Watcher: Sendable {
  var connection: DaemonConnection
  var request: APIRequest
  var surroundings: WatchSurroundings
  var isJSON: Bool

  /// The time after which a daemon that ended is searched for again.
  static let reconnectDelay = Duration.seconds(1)
  /// How often ages are updated; there are none if the output goes to a file.
  static let agePeriod = Duration.seconds(1)

  private struct News {
    /// Something changed since the latest request.
    var isStale = true
    var isStopped = false
    /// The error that ended the stream; nil while it runs.
    var problem: String?
  }

  /// - Parameter text: the answer in the form that a user reads.
  /// - Throws: the error of the first request; later failures are shown.
  func run(text: (Answer, TextStyle) throws -> String) async throws {
    let news = SharedUpdates()
    let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    wake.yield()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        for await _ in surroundings.stop() {
          news.state.withLock { $0.isStopped = true }
          wake.yield()
        }
      }
      tasks.addTask {
        for await _ in surroundings.resizes() { wake.yield() }
      }
      tasks.addTask { await follow(news, wake) }
      if surroundings.screen() != nil {
        tasks.addTask {
          while true {
            try await Task.sleep(for: Watcher.agePeriod)
            wake.yield()
          }
        }
      }
      defer { tasks.cancelAll() }
      try await show(news, wakes, text: text)
    }
  }

  /// Values behind a lock, shared between the tasks of one watch.
  private final class SharedUpdates: Sendable {
    let state = Mutex(News())
  }

  private func show(
    _ news: SharedUpdates, _ wakes: AsyncStream<Void>, text: (Answer, TextStyle) throws -> String
  ) async throws {
    var screen = WatchScreen(surroundings: surroundings)
    var latest: Answer?
    var refusal: String?
    defer { screen.close() }
    for await _ in wakes {
      let (isStopped, isStale, problem) = news.state.withLock { state in
        defer { state.isStale = false }
        return (state.isStopped, state.isStale, state.problem)
      }
      if isStopped { return }
      if isStale, problem == nil || latest == nil {
        do {
          latest = try await connection.answer(to: request)
          refusal = nil
        } catch let failure as CommandFailure {
          guard latest != nil else { throw failure }
          refusal = failure.message
        }
      }
      guard let latest else { continue }
      let style = latest.timed(surroundings.style())
      let shown =
        isJSON ? style.document(latest.json) : try text(latest, style)
      guard screen.show(shown, answer: latest, note: problem ?? refusal, style: style) else {
        return
      }
    }
  }

  /// Follows the daemon's events until the task is cancelled.
  private func follow(_ news: SharedUpdates, _ wake: AsyncStream<Void>.Continuation) async {
    while !Task.isCancelled {
      var lines = EventLines()
      var problem: String? = "the daemon stopped; waiting for it"
      do {
        try await connection.exchange.follow(APIRequest(.get, ["events"])) { bytes in
          guard lines.holdsEvent(in: bytes) else { return }
          news.state.withLock { state in
            state.isStale = true
            state.problem = nil
          }
          wake.yield()
        }
      } catch HTTPExchange.Failure.refused {
        // The maximum number of readers watches already: without its events, it is asked
        // repeatedly.
        problem = nil
      } catch {}
      if Task.isCancelled { return }
      news.state.withLock { state in
        state.problem = problem
        state.isStale = state.isStale || problem == nil
      }
      wake.yield()
      try? await Task.sleep(for: Watcher.reconnectDelay)
    }
  }
}

/// Separates events from the comments that only keep a stream alive.
struct EventLines {
  private var isAtLineStart = true

  /// Whether a line that is not a comment begins in these bytes of the stream.
  mutating func holdsEvent(in bytes: ByteBuffer) -> Bool {
    var found = false
    for byte in bytes.readableBytesView {
      if isAtLineStart, byte != UInt8(ascii: ":"), byte != UInt8(ascii: "\n") { found = true }
      isAtLineStart = byte == UInt8(ascii: "\n")
    }
    return found
  }
}
