import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Operations
import PushTestSupport
import Testing

@testable import SyncCommand

/// The checks of the connection to a server, with servers that each fail in a different way.
@Suite(.timeLimit(.minutes(5))) struct DoctorServerTests {
  private typealias Machine = DoctorTests.Machine

  /// Answers every request with the same head.
  private final class Answering: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let head: HTTPResponseHead

    init(_ head: HTTPResponseHead) { self.head = head }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .end = unwrapInboundIn(data) else { return }
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }

  /// The findings of doctor about a server on a port of its own.
  private func findings(
    status: HTTPResponseStatus = .ok, date: Date? = nil, hasTLS: Bool = false,
    isExpired: Bool = false, address: (Int) -> String, settings: String = "{}", now: Date = Date()
  ) async throws -> [DoctorFinding] {
    let security =
      hasTLS ? try TestAuthority.serverContext(protocols: ["http/1.1"], isExpired: isExpired) : nil
    var headers: HTTPHeaders = ["content-length": "0"]
    if let date { headers.add(name: "date", value: HTTPDateText.text(of: date)) }
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    let server = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let security { try pipeline.addHandler(NIOSSLServerHandler(context: security)) }
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(Answering(head))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let machine = try Machine()
    defer { machine.remove() }
    try machine.credentials(server: address(server.localAddress?.port ?? 0))
    try machine.write(settings, to: machine.data + "/config.json")
    let findings = await machine.findings(now: now)
    try await server.close()
    return findings
  }

  private func found(
    _ findings: [DoctorFinding], _ code: String, _ severity: DoctorFinding.Severity,
    _ word: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      findings.contains {
        $0.code == code && $0.severity == severity && (word.isEmpty || $0.what.contains(word))
          && (severity <= .info || $0.fix?.isEmpty == false)
      }, "\(findings.filter { $0.severity > .ok })", sourceLocation: sourceLocation)
  }

  @Test func aServerThatIsWellIsCalledThat() async throws {
    let findings = try await findings(date: Date()) { "ws://127.0.0.1:\($0)" }
    found(findings, "serverName", .ok, "127.0.0.1")
    found(findings, "serverHealth", .ok)
    found(findings, "clock", .ok)
    // A server that gives every request the same answer is a proxy that does not support WebSocket.
    found(findings, "serverUpgrade", .error, "HTTP status 200")
  }

  @Test func aFailingServerOrAnotherProgramIsReported() async throws {
    found(
      try await findings(status: .serviceUnavailable) { "ws://127.0.0.1:\($0)" },
      "serverHealth", .error, "unhealthy")
    found(
      try await findings(status: .notFound) { "ws://127.0.0.1:\($0)" }, "serverHealth", .error,
      "404")
  }

  @Test func aWrongClockIsReported() async throws {
    found(
      try await findings(date: Date() - 3_600) { "ws://127.0.0.1:\($0)" }, "clock", .error,
      "ahead of")
    found(
      try await findings(date: Date() + 7_200) { "ws://127.0.0.1:\($0)" }, "clock", .error,
      "behind")
  }

  @Test func anUnusedAddressIsReported() async throws {
    let machine = try Machine()
    defer { machine.remove() }
    // A port that was just allocated and released.
    let server = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0).get()
    let port = server.localAddress?.port ?? 0
    try await server.close()
    try machine.credentials(server: "ws://127.0.0.1:\(port)")
    found(await machine.findings(), "serverPort", .error, "refused")
    // Names under `invalid` never resolve (RFC 6761).
    try machine.credentials(server: "wss://nowhere.invalid")
    found(await machine.findings(), "serverName", .error, "nowhere.invalid")
    try machine.credentials(server: "http://host")
    found(await machine.findings(), "server", .error, "not the address")
  }

  /// Like a process that was stopped, or hangs: the system still accepts connections for it.
  @Test func aServerThatNeverAnswersIsAnError() async throws {
    let machine = try Machine()
    defer { machine.remove() }
    let server = try await ServerBootstrap(group: NIOSingletons.posixEventLoopGroup)
      .bind(host: "127.0.0.1", port: 0).get()
    try machine.credentials(server: "ws://127.0.0.1:\(server.localAddress?.port ?? 0)")
    let findings = await machine.findings { $0.limits.check = .seconds(2) }
    found(findings, "serverHealth", .error, "did not answer within")
    try await server.close()
  }

  @Test func certificatesAreChecked() async throws {
    let trusting = #"{"certificate":"\#(TestAuthority.certificateFile)"}"#
    found(
      try await findings(hasTLS: true) { "wss://localhost:\($0)" }, "serverTLS", .error,
      "not trusted")
    found(
      try await findings(
        hasTLS: true, address: { "wss://localhost:\($0)" }, settings: trusting),
      "certificateDays", .ok, "days")
    let certificate = try #require(
      try NIOSSLCertificate.fromPEMFile(TestAuthority.certificateFile).first)
    let end = Date(timeIntervalSince1970: Double(certificate.notValidAfter))
    found(
      try await findings(
        hasTLS: true, address: { "wss://localhost:\($0)" }, settings: trusting,
        now: end - 5 * 86_400 - 60),
      "certificateDays", .warning, "5 more days")
    found(
      try await findings(
        hasTLS: true, address: { "wss://localhost:\($0)" }, settings: trusting, now: end + 60),
      "certificateDays", .error, "expired")
    // Whether or not its root is trusted, renewing the certificate helps.
    for settings in ["{}", #"{"certificate":"\#(TestAuthority.expiredFile)"}"#] {
      found(
        try await findings(
          hasTLS: true, isExpired: true, address: { "wss://localhost:\($0)" }, settings: settings),
        "certificateDays", .error, "expired")
    }
    found(
      try await findings(
        hasTLS: true, address: { "wss://localhost:\($0)" },
        settings: #"{"certificate":"/nowhere.pem"}"#),
      "serverCertificate", .error, "/nowhere.pem")
    found(
      try await findings { "wss://localhost:\($0)" }, "serverTLS", .error, "does not speak TLS")
  }

  @Test func datesOfHTTPAreRead() {
    #expect(ServerProbe.date("Sun, 06 Nov 1994 08:49:37 GMT")?.timeIntervalSince1970 == 784_111_777)
    #expect(ServerProbe.date("yesterday") == nil)
    #expect(HTTPDateText.text(of: Date(timeIntervalSince1970: 784_111_777)).contains("06 Nov 1994"))
  }
}

/// Writes a date in HTTP's format.
private enum HTTPDateText {
  static func text(of date: Date) -> String {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return format.string(from: date)
  }
}
