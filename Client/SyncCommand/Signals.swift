import Dispatch
import Platform
import Synchronization

/// Signals of this process as streams, in place of their usual effect.
enum Signals {
  /// A source without a reference stops, so these are kept while the process lives.
  private static let sources = Mutex<[any DispatchSourceSignal]>([])

  static func stream(of numbers: [Int32]) -> AsyncStream<Void> {
    let (stream, received) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    for number in numbers {
      #if canImport(Darwin)
        // There the source sees signals beside the ordinary handling, which would end the process.
        signal(number, SIG_IGN)
      #endif
      sources.withLock { sources in
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { received.yield() }
        source.resume()
        sources.append(source)
      }
    }
    return stream
  }
}
