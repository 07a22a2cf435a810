import Basics
import Foundation
import NetworkAddresses
import ProxyTunnel

/// The address of a server.
struct ServerAddress: Hashable, Sendable {
  var isSecure: Bool
  var host: String
  var port: Int
  /// The folder below which a proxy serves it: empty, or `/cospool`.
  var folder: String

  /// Reads `ws://host[:port][/folder]` or `wss://host[:port][/folder]`.
  init(_ text: String) throws(ClientError) {
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard let parts = URLComponents(string: trimmed), let scheme = parts.scheme?.lowercased(),
      scheme == "ws" || scheme == "wss", let host = parts.host,
      SyncEndpoint.isPlace(host: host, port: parts.port),
      let folder = SyncEndpoint.folder(ofPath: parts.percentEncodedPath), parts.query == nil,
      parts.fragment == nil, parts.user == nil
    else { throw .invalidServerURL(text) }
    isSecure = scheme == "wss"
    self.host = host.trimmingCharacters(in: ["[", "]"])
    port = parts.port ?? (isSecure ? 443 : 80)
    self.folder = folder
  }

  /// The host as written in addresses and in the `Host` field.
  private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  var hostField: String { "\(bracketedHost):\(port)" }

  /// Whether others could read data on its way: it is not encrypted, and goes beyond this machine
  /// or a private network. Only a few names reveal their destination.
  var isExposed: Bool {
    guard !isSecure else { return false }
    if let address = InternetAddress(host) {
      return ![.loopback, .privateNetwork, .link].contains(address.reach)
    }
    let name = host.lowercased()
    return name != "localhost"
      && ![".localhost", ".local", ".internal", ".home.arpa"].contains { name.hasSuffix($0) }
  }

  /// Whether other machines cannot reach it there.
  var isOfThisMachine: Bool {
    InternetAddress(host)?.reach == .loopback
      || ["localhost", "localhost."].contains(host.lowercased())
  }

  /// The proxy to it that environment variables name; nil for a direct connection.
  func proxy(among variables: [String: String]) throws(ProxyAddress.Fault) -> ProxyAddress? {
    try ProxyAddress.named(by: variables, for: host, isSecure: isSecure)
  }

  /// The form that is stored and shown.
  var url: String { "\(isSecure ? "wss" : "ws")://\(bracketedHost):\(port)\(folder)" }
}
