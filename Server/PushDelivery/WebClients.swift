import AsyncHTTPClient
import Foundation
import NIOPosix
import NetworkAddresses
import PushNotices
import Synchronization

/// The HTTP clients for addresses that devices choose. Each serves one host, and connects only to
/// the allowed address that was found for it.
///
/// Devices choose the addresses of their notices, and the server sends requests from within its own
/// network. So it sends none to itself, to a private network or to a link-local address, unless its
/// operator allows it. The client looks up the name once and connects to exactly the address that
/// it checked, even if the name changes a moment later.
final class WebClients: Sendable {
  /// Finds the addresses of a host; blocks.
  typealias Resolver = @Sendable (String) -> [InternetAddress]

  private struct Bound {
    var address: InternetAddress
    var client: HTTPClient
    var usedAt: UInt64
  }

  private struct State {
    var clients: [String: Bound] = [:]
    var uses: UInt64 = 0
    var isShutDown = false
  }

  /// The number of hosts whose connections are kept.
  static let hostsMax = 64

  private let transport: PushTransport
  private let allowed: [AddressRange]
  private let resolver: Resolver
  private let state = Mutex(State())

  init(
    _ transport: PushTransport, allowed: [AddressRange],
    resolver: @escaping Resolver = systemResolver
  ) {
    self.transport = transport
    self.allowed = allowed
    self.resolver = resolver
  }

  /// The client for a URL's host.
  func client(for url: String) async throws(TransportFailure) -> HTTPClient {
    guard let host = WebParts(url)?.host else { throw TransportFailure(reason: "no such address") }
    let address = try await address(of: host)
    let (client, old) = state.withLock { state -> (HTTPClient?, HTTPClient?) in
      guard !state.isShutDown else { return (nil, nil) }
      state.uses += 1
      if let bound = state.clients[host], bound.address == address {
        state.clients[host]?.usedAt = state.uses
        return (bound.client, nil)
      }
      var old = state.clients[host]?.client
      if old == nil, state.clients.count >= WebClients.hostsMax,
        let oldest = state.clients.min(by: { $0.value.usedAt < $1.value.usedAt })
      {
        old = oldest.value.client
        state.clients[oldest.key] = nil
      }
      let client = transport.makeClient(.http1Only, for: host, at: address)
      state.clients[host] = Bound(address: address, client: client, usedAt: state.uses)
      return (client, old)
    }
    // The schedule retries its open requests.
    try? await old?.shutdown()
    guard let client else { throw TransportFailure(reason: "stopped") }
    return client
  }

  private func address(of host: String) async throws(TransportFailure) -> InternetAddress {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    var found = InternetAddress(bare).map { [$0] } ?? []
    if found.isEmpty {
      let resolver = resolver
      found = (try? await NIOThreadPool.singleton.runIfActive { resolver(bare) }) ?? []
    }
    guard !found.isEmpty else { throw TransportFailure(reason: "the server cannot be reached") }
    // A host with both kinds can be reached by IPv4 from everywhere.
    let usable = found.filter(mayAsk).sorted { $0.isV4 && !$1.isV4 }
    guard let address = usable.first else { throw TransportFailure(reason: WebClients.forbidden) }
    return address
  }

  static let forbidden =
    "its address belongs to this machine or a private network, to which the server does not "
    + "push; the server's owner can allow it: cospool-server push configure network --allow "
    + "ADDRESS/BITS"

  private func mayAsk(_ address: InternetAddress) -> Bool {
    address.reach == .everywhere || allowed.contains { $0.contains(address) }
  }

  func shutDown() async {
    let clients = state.withLock { state in
      defer { state.clients = [:] }
      state.isShutDown = true
      return state.clients.values.map(\.client)
    }
    // A client that failed to close is not used again.
    for client in clients { try? await client.shutdown() }
  }

  static let systemResolver: Resolver = { host in
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, nil, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [InternetAddress] = []
    var next = list
    while let entry = next?.pointee {
      var text = [CChar](repeating: 0, count: 64)
      let length = socklen_t(text.count)
      if getnameinfo(
        entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0
      {
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        if let address = InternetAddress(String(decoding: bytes, as: UTF8.self)),
          !addresses.contains(address)
        {
          addresses.append(address)
        }
      }
      next = entry.ai_next
    }
    return addresses
  }
}
