import Basics
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import Platform
import ProxyTunnel

/// Reads a server's health page, and its certificate.
package struct ServerProbe: Sendable {
  package var address: DoctorAddress
  /// A root certificate in addition to the system's.
  package var certificateFile: String?
  package var connectSeconds: Int64
  /// Whether the certificate must have this name and a trusted root. A server that examines its own
  /// port uses an IP address, which its certificate does not name.
  package var checksCertificate: Bool
  /// The environment variables that name a proxy; `ProxyAddress` lists them.
  package var proxyVariables: [String: String]

  package init(
    address: DoctorAddress, certificateFile: String? = nil, connectSeconds: Int64,
    checksCertificate: Bool = true, proxyVariables: [String: String] = [:]
  ) {
    self.address = address
    self.certificateFile = certificateFile
    self.connectSeconds = connectSeconds
    self.checksCertificate = checksCertificate
    self.proxyVariables = proxyVariables
  }

  package struct Reply: Equatable, Sendable {
    package var status: Int
    /// The server's clock, if it reports it.
    package var date: String?
    /// When its certificate expires, seconds since 1970; nil without TLS.
    package var certificateEnds: Int64?
  }

  package struct Failure: Error, Equatable {
    package var code: String
    package var reason: String
  }

  package static let path = "/healthz"

  private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// Connects, does the TLS handshake if there is one, and requests the page.
  package func reply() async throws(Failure) -> Reply {
    try await reply(to: Self.path, ["connection": "close"])
  }

  /// Requests a WebSocket as devices do, and disconnects. The status is 101 if everything in front
  /// of the server supports that (RFC 6455, section 4.1).
  package func upgradeReply() async throws(Failure) -> Reply {
    try await reply(
      to: SyncEndpoint.path,
      [
        "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
        "sec-websocket-key": "Y29zcG9vbC1kb2N0b3ItLQ==",
        "sec-websocket-protocol": SyncEndpoint.subprotocol,
      ])
  }

  private func reply(to path: String, _ fields: HTTPHeaders) async throws(Failure) -> Reply {
    let security = try security()
    do {
      return try await exchange(path, fields, security)
    } catch let failure as Failure {
      throw failure
    } catch {
      let failure = Self.failure(of: error, at: address)
      guard failure.code == "serverTLS", let expiry = await expiry() else { throw failure }
      throw expiry
    }
  }

  /// The failure that the certificate has expired, if the certificate is untrusted because of that:
  /// another root would not help.
  private func expiry() async -> Failure? {
    guard address.isSecure, checksCertificate else { return nil }
    var unchecked = self
    unchecked.checksCertificate = false
    guard let ends = try? await unchecked.reply().certificateEnds,
      Double(ends) <= Date().timeIntervalSince1970
    else { return nil }
    return Failure(
      code: "certificateDays", reason: "the certificate of \(address.text) has expired")
  }

  private func security() throws(Failure) -> NIOSSLContext? {
    guard address.isSecure else { return nil }
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    if !checksCertificate { configuration.certificateVerification = .none }
    do {
      if let certificateFile {
        configuration.additionalTrustRoots = [
          .certificates(try NIOSSLCertificate.fromPEMFile(certificateFile))
        ]
      }
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw Failure(
        code: "serverCertificate",
        reason: "\(certificateFile ?? "the system's root certificates") cannot be read as PEM")
    }
  }

  private func exchange(
    _ path: String, _ fields: HTTPHeaders, _ security: NIOSSLContext?
  ) async throws -> Reply {
    let address = address
    let proxy = try ProxyAddress.named(
      by: proxyVariables, for: address.host, isSecure: address.isSecure)
    let (channel, seen) = try await ClientBootstrap(
      group: NIOSingletons.posixEventLoopGroup
    )
    .connectTimeout(.seconds(connectSeconds))
    .connect(host: proxy?.host ?? address.host, port: proxy?.port ?? address.port) { channel in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        if let proxy {
          try pipeline.addHandler(ProxyTunnel(through: proxy, to: address.hostField))
        }
        let seen = NIOLoopBoundBox(SeenSecurity(), eventLoop: channel.eventLoop)
        if let security {
          // The server name of TLS can only be a host name.
          let isNumeric = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
          try pipeline.addHandler(
            NIOSSLClientHandler(
              context: security, serverHostname: isNumeric ? nil : address.host))
          try pipeline.addHandler(SecurityReader(seen))
        }
        try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
        let connection = try Connection(wrappingChannelSynchronously: channel)
        // NIO traps if it is released while open, for example if another address was faster.
        channel.closeFuture.whenComplete { _ in withExtendedLifetime(connection) {} }
        return (connection, seen)
      }
    }
    do {
      return try await channel.executeThenClose { inbound, outbound in
        var head = HTTPRequestHead(
          version: .http1_1, method: .GET, uri: address.folder + path, headers: fields)
        head.headers.add(name: "host", value: address.hostField)
        try await outbound.write(contentsOf: [.head(head), .end(nil)])
        for try await part in inbound {
          guard case .head(let head) = part else { continue }
          let ends = try await channel.channel.eventLoop.submit { seen.value.certificateEnds }.get()
          return Reply(
            status: Int(head.status.code), date: head.headers.first(name: "date"),
            certificateEnds: ends)
        }
        throw Failure(
          code: "serverHealth", reason: "\(address.text) closes connections immediately")
      }
    } catch {
      // The cause of the close is more useful than the close.
      let failure = try? await channel.channel.eventLoop.submit { seen.value.failure }.get()
      throw failure ?? error
    }
  }

  /// Reads a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func date(_ text: String) -> Date? {
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let words = text.split { $0 == " " || $0 == ":" }
    guard words.count == 8, words[7] == "GMT", let zone = TimeZone(secondsFromGMT: 0),
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let numbers = [1, 3, 4, 5, 6].compactMap { Int(words[$0]) }
    guard numbers.count == 5 else { return nil }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    return calendar.date(
      from: DateComponents(
        year: numbers[1], month: month + 1, day: numbers[0], hour: numbers[2], minute: numbers[3],
        second: numbers[4]))
  }

  private static func failure(of error: any Error, at address: DoctorAddress) -> Failure {
    switch error {
    case let fault as ProxyAddress.Fault:
      return Failure(code: "serverProxy", reason: "\(address.text): \(fault)")
    case let failure as ProxyTunnel.Failure:
      return Failure(code: "serverProxy", reason: "\(address.text): \(failure)")
    case let error as NIOConnectionError where error.connectionErrors.isEmpty:
      return Failure(code: "serverName", reason: "the name \(address.host) is unknown")
    case let error as NIOConnectionError:
      let first = (error.connectionErrors.first?.error as? IOError)?.errnoCode
      let reason = first.map { String(cString: strerror($0)) } ?? "no answer in time"
      return Failure(code: "serverPort", reason: "\(address.text) cannot be reached: \(reason)")
    case is ChannelError:
      return Failure(code: "serverPort", reason: "\(address.text) does not answer in time")
    case is NIOSSLExtraError:
      return Failure(
        code: "serverTLS",
        reason: "the certificate of \(address.text) is not valid for \(address.host)")
    case let error as NIOSSLError:
      let text = "\(error)"
      let isUntrusted = text.contains("CERTIFICATE_VERIFY_FAILED")
      return Failure(
        code: "serverTLS",
        reason: isUntrusted
          ? "the certificate of \(address.text) is not trusted: it is self-signed, expired, or from "
            + "an unknown issuer"
          : "\(address.text) does not speak TLS correctly")
    default:
      return Failure(
        code: "serverHealth", reason: "\(address.text) does not answer as a Cospool server")
    }
  }
}

/// The server's address in its parts.
package struct DoctorAddress: Equatable, Sendable {
  package var isSecure: Bool
  package var host: String
  package var port: Int
  /// The folder below which a proxy serves it: empty, or `/cospool`.
  package var folder: String

  package init?(_ text: String) {
    guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
      ["ws", "wss"].contains(scheme), let host = url.host,
      SyncEndpoint.isPlace(host: host, port: url.port),
      let folder = SyncEndpoint.folder(ofPath: url.percentEncodedPath)
    else { return nil }
    isSecure = scheme == "wss"
    self.host = host.split(whereSeparator: { "[]".contains($0) }).joined().lowercased()
    port = url.port ?? (isSecure ? 443 : 80)
    self.folder = folder
  }

  package var hostField: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  package var text: String { "\(isSecure ? "wss" : "ws")://\(hostField)\(folder)" }
}

/// What the TLS handler of a connection reported.
private struct SeenSecurity {
  /// When the certificate expires, seconds since 1970.
  var certificateEnds: Int64?
  /// Why the certificate was refused.
  var failure: (any Error)?
}

/// Records the reports of a connection's TLS handler as they arrive. Later would be too late: the
/// connection closes as soon as the server has answered, or its certificate was refused.
private final class SecurityReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let seen: NIOLoopBoundBox<SeenSecurity>

  init(_ seen: NIOLoopBoundBox<SeenSecurity>) { self.seen = seen }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLHandler.self)
    if let certificate = handler?.peerCertificate {
      seen.value.certificateEnds = Int64(certificate.notValidAfter)
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if seen.value.failure == nil { seen.value.failure = error }
    context.fireErrorCaught(error)
  }
}
