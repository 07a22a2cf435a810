import Foundation
import NIOCore
import Synchronization

/// The connections to the page's listener that have not sent a browser's key yet. Their number is
/// limited, for each source and in total, and the time of each is, too. If all places are taken, a
/// new connection closes the oldest of its source. So strangers who only connect cannot keep a
/// browser out.
final class WebPlaces: Sendable {
  /// A browser opens six connections at once to load the page's files without a key, and a machine
  /// or a network may have two browsers.
  static let strangersOfSourceMax = 16
  static let strangersMax = 64
  /// The time for the TLS handshake and the head of a request.
  static let strangerSeconds: Int64 = 10

  private struct Stranger: Sendable {
    var source: [UInt8]
    var channel: any Channel
  }

  /// The oldest first.
  private let strangers = Mutex<[Stranger]>([])

  /// Gives a connection its place, which another connection may lose.
  func admit(_ channel: any Channel) {
    let source = WebPlaces.source(of: channel.remoteAddress)
    let one = Stranger(source: source, channel: channel)
    let lost = strangers.withLock { strangers in
      strangers.append(one)
      let counts = Dictionary(grouping: strangers, by: \.source).mapValues(\.count)
      let isFull = strangers.count > WebPlaces.strangersMax
      // If all places are taken, the source with the most connections loses one.
      let most = isFull ? counts.max { $0.value < $1.value }?.key : nil
      let loser = counts[source, default: 0] > WebPlaces.strangersOfSourceMax ? source : most
      let index = strangers.firstIndex { $0.source == loser }
      return index.map { strangers.remove(at: $0).channel }
    }
    lost?.close(promise: nil)
    let limit = channel.eventLoop.scheduleTask(in: .seconds(WebPlaces.strangerSeconds)) {
      [weak self] in
      if self?.takeOut(channel) == true { channel.close(promise: nil) }
    }
    channel.closeFuture.whenComplete { [weak self] _ in
      limit.cancel()
      _ = self?.takeOut(channel)
    }
  }

  /// A connection sent a key.
  func knows(_ channel: any Channel) { _ = takeOut(channel) }

  private func takeOut(_ channel: any Channel) -> Bool {
    strangers.withLock { strangers in
      let index = strangers.firstIndex { $0.channel === channel }
      return index.map { strangers.remove(at: $0) } != nil
    }
  }

  /// The source of a connection: an address of version 4, or the network of one of version 6, which
  /// has 2⁶⁴ addresses for each machine.
  static func source(of address: SocketAddress?) -> [UInt8] {
    guard let address else { return [] }
    // In the system's layout: family and port, the flow of version 6, and the address.
    let bytes = address.withSockAddr { Array(UnsafeRawBufferPointer(start: $0, count: $1)) }
    switch address {
    case .v4: return Array(bytes[4..<8])
    case .v6:
      let place = bytes[8..<24]
      let isMapped = place.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
      return Array(isMapped ? place.suffix(4) : place.prefix(8))
    case .unixDomainSocket: return []
    }
  }
}
