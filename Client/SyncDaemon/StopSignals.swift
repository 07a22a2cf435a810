import Dispatch
import Foundation
import Synchronization

/// SIGTERM and SIGINT as a stream, instead of their sudden ends.
enum StopSignals {
  /// A source that nobody holds stops; these are held for as long as the process lives.
  private static let sources = Mutex<[any DispatchSourceSignal]>([])

  static func stream() -> AsyncStream<Void> {
    // A peer that hangs up must not end the daemon either.
    signal(SIGPIPE, SIG_IGN)
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for number in [SIGTERM, SIGINT] {
      signal(number, SIG_IGN)
      sources.withLock { sources in
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { continuation.yield() }
        source.resume()
        sources.append(source)
      }
    }
    return stream
  }
}
