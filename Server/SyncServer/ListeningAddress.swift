import Foundation
import NetworkAddresses

/// The address to type on another device for a server that listens at an address.
package enum ListeningAddress {
  /// Whether hosts outside this machine and a private network may reach a listener at `host`.
  package static func mayBeReachedFromAfar(host: String) -> Bool {
    guard host != "localhost", let address = InternetAddress(host) else {
      return host != "localhost"
    }
    // The unspecified address listens on every address of the machine.
    return address.bytes.allSatisfy { $0 == 0 }
      || ![.loopback, .privateNetwork, .link].contains(address.reach)
  }

  /// The first port on which an unprivileged account may listen (`ip(7)`).
  package static var firstUnprivilegedPort: Int {
    let text = try? String(
      contentsOfFile: "/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding: .utf8)
    return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 1_024
  }

  /// Whether only root may use a port; 0 means a free one.
  package static func isPrivileged(_ port: Int, first: Int) -> Bool {
    (1..<max(first, 1)).contains(port)
  }

  /// The text about such a port.
  package static func below(_ first: Int) -> String {
    "only root can use ports below \(first). Choose another port; for 443, put a TLS proxy "
      + "in front, and add --trusted-proxy and --url"
  }

  /// The URL to type; HOST replaces an unknown name.
  ///
  /// - Parameter url: the address of the serving process; nil if it has not reported one.
  static func typed(_ url: String?) -> String {
    guard let url else { return "ws://HOST:PORT" }
    guard let parts = Parts(url), parts.isWildcard else { return url }
    return "\(parts.scheme)HOST:\(parts.port)"
  }

  /// Notes about it, as lines that follow the command; empty if there are none.
  static func hint(_ url: String?) -> String {
    guard let url else {
      return
        "\n\nThe server does not report its address yet. It prints HOST:PORT when it starts."
    }
    guard let parts = Parts(url) else { return "" }
    if parts.isWildcard {
      let hint = "\n\nHOST is this machine's name or address."
      guard parts.scheme == "ws://" else { return hint }
      return hint
        + " The connection is not encrypted: beyond a private network, devices accept it "
        + "only with --insecure."
    }
    guard parts.isLoopback else { return "" }
    return "\n\nOnly this machine can reach the server. For others, start it with --host; "
      + "behind a proxy, set the address: --url wss://HOST."
  }

  /// The text to type if devices connect through a proxy with an unknown address, and the note
  /// about it.
  static let proxied = "wss://HOST"
  static let proxyHint =
    "\n\nHOST is the proxy's name. To see the full command here, start the server with --url "
    + "\(proxied)."

  private struct Parts {
    /// With `://`.
    var scheme: Substring
    /// Without brackets.
    var host: Substring
    var port: Substring

    init?(_ url: String) {
      guard let start = url.firstRange(of: "://")?.upperBound,
        let colon = url.lastIndex(of: ":"), colon >= start
      else { return nil }
      scheme = url[..<start]
      host = url[start..<colon]
      if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
      port = url[url.index(after: colon)...]
    }

    /// Every address of the machine: `0.0.0.0`, `::`.
    var isWildcard: Bool { !host.isEmpty && host.allSatisfy { "0.:".contains($0) } }

    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
  }
}
