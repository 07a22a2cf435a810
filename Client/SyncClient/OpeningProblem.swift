import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ProxyTunnel

/// Explains why a connection could not be opened, and what to do about it.
struct OpeningProblem {
  var address: ServerAddress
  /// The proxy on the way to it.
  var proxy: ProxyAddress?

  /// One sentence without its full stop.
  func explain(_ error: any Error) -> String {
    switch error {
    case let failure as Transport.Failure:
      failure.description
    case let error as NIOConnectionError:
      explain(error)
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      "\(address.url): the server's certificate is not trusted: it is not valid for "
        + "\(address.host). Use a name or address for which it is valid"
    case NIOSSLError.handshakeFailed(let reason):
      explain(handshake: "\(reason)")
    case is HTTPParserError, is NIOHTTPClientUpgradeError, is ChannelError:
      "\(address.url) does not answer as a Cospool server" + hint
    case let error as IOError where error.errnoCode == ECONNRESET:
      "\(address.url) closes connections immediately" + hint
    default:
      "\(address.url): \(error)"
    }
  }

  private func explain(_ error: NIOConnectionError) -> String {
    if let proxy {
      return "the proxy \(proxy.place) cannot be reached. Check HTTPS_PROXY and the network"
    }
    guard let first = error.connectionErrors.first?.error else {
      return "\(address.url): the name \(address.host) is unknown. Check the address and the "
        + "network"
    }
    if (first as? IOError)?.errnoCode == ECONNREFUSED {
      let port = [80, 443].contains(address.port) ? "; without a proxy, its port is 7420" : ""
      return "nothing answers at \(address.url). Check the address, and that the server runs\(port)"
    }
    let reason = (first as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(first)"
    return "\(address.url) cannot be reached: \(reason)"
  }

  private var hint: String {
    address.isSecure ? "" : ". If the server uses TLS, its address begins with wss://"
  }

  private func explain(handshake reason: String) -> String {
    if reason.contains("CERTIFICATE_VERIFY_FAILED") {
      return "\(address.url): the server's certificate is not trusted: it is self-signed, "
        + "expired, or from an unknown issuer. If you trust it: cospool config set "
        + "certificate FILE, with a PEM file that holds it or its root, then cospool service "
        + "restart"
    }
    if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("EOF during handshake")
      || reason.contains("HTTP_REQUEST")
    {
      return "\(address.url) does not speak TLS. If that is intended, use an address with ws://"
    }
    return "\(address.url): the TLS handshake failed: \(OpeningProblem.shortened(reason))"
  }

  /// The library's names of the errors, without its source locations.
  private static func shortened(_ reason: String) -> String {
    let names = reason.components(separatedBy: "OPENSSL_internal:").dropFirst().map {
      String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }
    return names.isEmpty ? reason : names.joined(separator: ", ")
  }
}
