import Foundation
import NetworkAddresses

/// An HTTP proxy through which a device reaches its server.
package struct ProxyAddress: Hashable, Sendable {
  package var host: String
  package var port: Int
  /// The value of `Proxy-Authorization` (RFC 9110, section 11.7.2); nil without a user.
  var authorization: String?

  /// Host and port, for users.
  package var place: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

  /// Why the proxy that a variable names cannot be used. The device then does not connect directly,
  /// because the user asked for a proxy.
  package enum Fault: Error, Hashable, CustomStringConvertible {
    /// The variable names something else. Its value may contain a password.
    case notHTTP(variable: String)
    /// The server's certificate could not be checked: a proxy shows its own address.
    case certificateOfAddress(host: String)

    package var description: String {
      switch self {
      case .notHTTP(let variable):
        "\(variable) does not name an HTTP proxy. Write http://HOST:PORT, or add the server to "
          + "NO_PROXY"
      case .certificateOfAddress(let host):
        "through a proxy, the certificate of the address \(host) cannot be checked. Use the server's "
          + "name, or add the address to NO_PROXY"
      }
    }
  }

  /// Reads `http://[USER:PASSWORD@]HOST[:PORT]`, or the same without `http://`; nil for another form.
  package init?(_ text: String) {
    let text = text.contains("://") ? text : "http://" + text
    guard let url = URLComponents(string: text), url.scheme?.lowercased() == "http",
      let host = url.host, !host.isEmpty, ["", "/"].contains(url.path), url.query == nil,
      (1...65_535).contains(url.port ?? 80)
    else { return nil }
    self.host = host.trimmingCharacters(in: ["[", "]"])
    port = url.port ?? 80
    if let user = url.user {
      let name = Data("\(user):\(url.password ?? "")".utf8)
      authorization = "Basic " + name.base64EncodedString()
    }
  }

  /// The proxy for a server, by the variables that other programs use, too: `https_proxy` with TLS,
  /// `all_proxy` for every server, and `no_proxy` for those without one. Lower case comes first. A
  /// server on this machine never has one.
  ///
  /// - Returns: nil for a direct connection.
  /// - Throws: `Fault`.
  package static func named(
    by variables: [String: String], for host: String, isSecure: Bool
  ) throws(Fault) -> ProxyAddress? {
    let names = (isSecure ? ["https_proxy"] : []) + ["all_proxy"]
    let candidates = names.flatMap { [$0, $0.uppercased()] }
    guard let variable = candidates.first(where: { variables[$0]?.isEmpty == false }),
      !isDirect(host, variables["no_proxy"] ?? variables["NO_PROXY"] ?? "")
    else { return nil }
    guard let proxy = variables[variable].flatMap(ProxyAddress.init) else {
      throw .notHTTP(variable: variable)
    }
    if isSecure, InternetAddress(host) != nil { throw .certificateOfAddress(host: host) }
    return proxy
  }

  /// Whether a list of names, domains, addresses and ranges contains a host, or it is this machine.
  private static func isDirect(_ host: String, _ list: String) -> Bool {
    let name = host.lowercased()
    let address = InternetAddress(host)
    if name == "localhost" || address?.reach == .loopback { return true }
    return list.lowercased().split(whereSeparator: { ",; \t".contains($0) }).contains { entry in
      if entry == "*" { return true }
      if let address, let range = AddressRange(entry) { return range.contains(address) }
      let domain = entry.drop { $0 == "." || $0 == "*" }
      return !domain.isEmpty && (name == domain || name.hasSuffix("." + domain))
    }
  }

  /// The proxies' variables among those of an environment.
  package static func variables(of environment: [String: String]) -> [String: String] {
    let names = ["https_proxy", "all_proxy", "no_proxy"]
    return environment.filter { names.contains($0.key.lowercased()) && !$0.value.isEmpty }
  }
}
