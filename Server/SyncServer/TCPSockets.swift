import NIOCore
import NIOHTTP1
import NetworkAddresses
import ServerCore

/// The server's TCP connections, upgraded or not: their sources, their places, and the certificate
/// of new ones.
struct TCPSockets {
  /// The result of an arrival.
  enum Arrival {
    case refused
    /// It has a place; the other connection has lost its own, and must be closed.
    case taken(insteadOf: (any Channel)?)
  }

  /// The certificate of new connections; nil if the server does not use TLS.
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

  /// The source of a connection or, behind a trusted proxy, of its request.
  func source(of channel: any Channel) -> String {
    channels[ObjectIdentifier(channel)]?.source ?? "local"
  }

  /// The head of a request arrived. Behind a trusted proxy, it names the source.
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
