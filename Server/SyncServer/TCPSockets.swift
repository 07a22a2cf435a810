import NIOCore
import NIOHTTP1
import NetworkAddresses
import ServerCore

/// The server's TCP connections, upgraded or not: where each comes from, who has a place among them, and
/// which certificate new ones get.
struct TCPSockets {
  /// What becomes of a connection that came.
  enum Arrival {
    case refused
    /// It has a place; the other one has lost its own, and is to be closed.
    case taken(insteadOf: (any Channel)?)
  }

  /// The certificate of new connections; nil if TLS is none of the server's.
  let security: CertificateReloader?
  private let trustedProxies: [AddressRange]
  private var channels: [ObjectIdentifier: (channel: any Channel, source: String)] = [:]
  private var places: Places

  init(_ options: SyncServerOptions, security: CertificateReloader?) {
    self.security = security
    trustedProxies = options.front.trustedProxies
    places = Places(rules: options.places)
  }

  var count: Int { channels.count }
  var all: [any Channel] { channels.values.map(\.channel) }

  /// A connection was accepted.
  mutating func opened(_ channel: any Channel, uptime: Int64) -> Arrival {
    let source = channel.remoteAddress?.ipAddress ?? "local"
    let arrival = takePlace(for: channel, from: source, uptime: uptime)
    if case .taken = arrival { channels[ObjectIdentifier(channel)] = (channel, source) }
    return arrival
  }

  mutating func closed(_ channel: any Channel) {
    channels[ObjectIdentifier(channel)] = nil
    places.gone(ObjectIdentifier(channel))
  }

  /// The device of a connection is known.
  mutating func authenticated(_ channel: any Channel) {
    places.authenticated(ObjectIdentifier(channel))
  }

  /// Where a connection comes from, or, if a proxy that is trusted passes it on, its request.
  func source(of channel: any Channel) -> String {
    channels[ObjectIdentifier(channel)]?.source ?? "local"
  }

  /// The head of a request came. Behind a proxy that is trusted, it says where from.
  mutating func requested(
    _ head: HTTPRequestHead, on channel: any Channel, uptime: Int64
  ) -> Arrival {
    let none = Arrival.taken(insteadOf: nil)
    guard !trustedProxies.isEmpty, let peer = channel.remoteAddress?.ipAddress else { return none }
    let forwarded = head.headers[canonicalForm: "x-forwarded-for"].map(String.init)
    let source = ForwardedSource.find(peer: peer, forwarded: forwarded, trusted: trustedProxies)
    guard source != self.source(of: channel) else { return none }
    channels[ObjectIdentifier(channel)]?.source = source
    guard places.isUnknown(ObjectIdentifier(channel)) else { return none }
    places.gone(ObjectIdentifier(channel))
    return takePlace(for: channel, from: source, uptime: uptime)
  }

  private mutating func takePlace(
    for channel: any Channel, from source: String, uptime: Int64
  ) -> Arrival {
    switch places.arrived(ObjectIdentifier(channel), from: source, uptime: uptime) {
    case .refused: .refused
    case .taken(let other): .taken(insteadOf: other.flatMap { channels[$0]?.channel })
    }
  }
}
