import Basics
import Foundation
import NetworkAddresses

/// Where a server listens.
struct ServerAddress: Hashable, Sendable {
  var isSecure: Bool
  var host: String
  var port: Int

  /// Reads `ws://host[:port]` or `wss://host[:port]`; a path other than the sync path is refused.
  init(_ text: String) throws(ClientError) {
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard let parts = URLComponents(string: trimmed), let scheme = parts.scheme?.lowercased(),
      scheme == "ws" || scheme == "wss", let host = parts.host,
      SyncEndpoint.isPlace(host: host, port: parts.port),
      ["", "/", SyncEndpoint.path].contains(parts.path), parts.query == nil,
      parts.user == nil
    else { throw .invalidServerURL(text) }
    isSecure = scheme == "wss"
    self.host = host.trimmingCharacters(in: ["[", "]"])
    port = parts.port ?? (isSecure ? 443 : 80)
  }

  /// The host as it stands in addresses and in the `Host` field.
  private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  var hostField: String { "\(bracketedHost):\(port)" }

  /// Whether what is sent there can be read on the way: not encrypted, and farther than this machine
  /// or a private network. Of a name only a few say where they lead.
  var isExposed: Bool {
    guard !isSecure else { return false }
    if let address = InternetAddress(host) {
      return ![.loopback, .privateNetwork, .link].contains(address.reach)
    }
    let name = host.lowercased()
    return name != "localhost"
      && ![".localhost", ".local", ".internal", ".home.arpa"].contains { name.hasSuffix($0) }
  }

  /// Whether no other machine reaches it there.
  var isOfThisMachine: Bool {
    InternetAddress(host)?.reach == .loopback
      || ["localhost", "localhost."].contains(host.lowercased())
  }

  /// The form that is stored and shown.
  var url: String { "\(isSecure ? "wss" : "ws")://\(bracketedHost):\(port)" }
}
