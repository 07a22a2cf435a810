import Dispatch
import Foundation
import Synchronization

/// Signals as streams, instead of their default effect.
enum StopSignals {
  /// A source without a reference stops, so these are kept while the process lives.
  private static let sources = Mutex<[any DispatchSourceSignal]>([])

  /// The signals that end the daemon, by default SIGTERM and SIGINT.
  ///
  /// Returns once the signals are caught: an earlier one ends the process as usual, and none is
  /// lost in between.
  static func stream(of numbers: [Int32] = [SIGTERM, SIGINT]) async -> AsyncStream<Void> {
    // A peer that hangs up must not end the daemon either.
    signal(SIGPIPE, SIG_IGN)
    let (stream, stop) = AsyncStream<Void>.makeStream()
    for number in numbers {
      await withCheckedContinuation { isRegistered in
        catchSignal(number, isRegistered: { isRegistered.resume() }, received: { stop.yield() })
      }
    }
    return stream
  }

  private static func catchSignal(
    _ number: Int32, isRegistered: @escaping @Sendable () -> Void,
    received: @escaping @Sendable () -> Void
  ) {
    #if canImport(Darwin)
      // There the source sees signals beside the ordinary handling, which would end the process. On
      // Linux, the source consumes them, and an ignored signal would not even reach it.
      signal(number, SIG_IGN)
    #endif
    sources.withLock { sources in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setRegistrationHandler(handler: isRegistered)
      source.setEventHandler(handler: received)
      source.resume()
      sources.append(source)
    }
  }
}
