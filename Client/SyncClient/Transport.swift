import Basics
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import ProxyTunnel
import Synchronization
import WireProtocol

/// One WebSocket connection to a server. Opened once, closed once; it may be closed at any moment.
final class Transport: Sendable {
  /// Incoming data.
  enum Incoming: Sendable {
    case message([UInt8])
    /// A ping or pong: the server is alive.
    case heard
  }

  /// Why a connection could not be opened.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private struct State {
    var channel: (any Channel)?
    /// Every channel that was tried for a name with several addresses, until one has won.
    var tried: [any Channel] = []
    var inbox: NIOLoopBound<FrameInbox>?
    /// When the peer's certificate expires, seconds since 1970.
    var certificateEnd: Int64?
    var isClosed = false
    var reason = "the connection ended"
  }

  private static let closeMilliseconds: Int64 = 500
  /// The time limit for writing data that was sent before the closing message.
  private static let goodbyeMilliseconds: Int64 = 2_000
  /// Empty or tiny fragments can overload a receiver; correct servers do not send them.
  private static let fragmentsMax = 1_024

  /// Incoming data, grouped by reads.
  let incoming: AsyncStream<[Incoming]>
  private let continuation: AsyncStream<[Incoming]>.Continuation
  private let address: ServerAddress
  private let certificateFile: String?
  private let proxyVariables: [String: String]
  private let state = Mutex(State())

  init(address: ServerAddress, certificateFile: String?, proxyVariables: [String: String] = [:]) {
    self.address = address
    self.certificateFile = certificateFile
    self.proxyVariables = proxyVariables
    (incoming, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
  }

  /// Why the connection ended, once `incoming` has ended.
  var reason: String { state.withLock { $0.reason } }

  /// When the server's certificate expires, seconds since 1970; nil without TLS.
  var certificateEnd: Int64? { state.withLock { $0.certificateEnd } }

  /// Connects and upgrades; the caller limits the time.
  func open() async throws(Failure) {
    var proxy: ProxyAddress?
    do {
      proxy = try address.proxy(among: proxyVariables)
      let security = try Transport.makeSecurity(for: address, certificateFile: certificateFile)
      let upgraded: EventLoopFuture<Void> = try await ClientBootstrap(
        group: MultiThreadedEventLoopGroup.singleton
      )
      .connectTimeout(.milliseconds(10_000))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .connect(host: proxy?.host ?? address.host, port: proxy?.port ?? address.port) {
        [proxy] channel in
        self.adopt(channel)
        return channel.eventLoop.makeCompletedFuture {
          if let proxy {
            try channel.pipeline.syncOperations.addHandler(
              ProxyTunnel(through: proxy, to: self.address.hostField))
          }
          return try self.configure(channel, security: security)
        }
      }
      try await upgraded.get()
    } catch let failure as Failure {
      close()
      throw failure
    } catch {
      close()
      throw Failure(description: OpeningProblem(address: address, proxy: proxy).explain(error))
    }
  }

  /// The TLS context; nil for an address without TLS.
  static func makeSecurity(
    for address: ServerAddress, certificateFile: String?
  ) throws -> NIOSSLContext? {
    guard address.isSecure else { return nil }
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    configuration.shutdownTimeout = .milliseconds(Transport.closeMilliseconds)
    if let certificateFile {
      guard let roots = try? NIOSSLCertificate.fromPEMFile(certificateFile), !roots.isEmpty else {
        throw Failure(
          description: "\(certificateFile) cannot be read, or contains no certificate in PEM")
      }
      configuration.additionalTrustRoots = [.certificates(roots)]
    }
    return try NIOSSLContext(configuration: configuration)
  }

  private func adopt(_ channel: any Channel) {
    let isClosed = state.withLock { state in
      state.channel = channel
      state.tried.append(channel)
      return state.isClosed
    }
    if isClosed { channel.close(promise: nil) }
  }

  /// Runs on the channel's event loop; the returned future completes with the upgrade.
  private func configure(
    _ channel: any Channel, security: NIOSSLContext?
  ) throws -> EventLoopFuture<Void> {
    let pipeline = channel.pipeline.syncOperations
    if let security {
      // Only host names may be server names; certificates of addresses are checked against the
      // peer.
      let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
      try pipeline.addHandler(
        NIOSSLClientHandler(context: security, serverHostname: isAddress ? nil : address.host))
    }
    let url = address.url
    let upgrader = NIOTypedWebSocketClientUpgrader<Void>(
      maxFrameSize: WireLimits.frameBytesMax,
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          guard head.headers["sec-websocket-protocol"] == [SyncEndpoint.subprotocol] else {
            throw Failure(description: "\(url) does not speak \(SyncEndpoint.subprotocol)")
          }
          try self.installInbox(on: channel)
        }
      })
    var headers = HTTPHeaders()
    headers.add(name: "Host", value: address.hostField)
    headers.add(name: "Content-Length", value: "0")
    headers.add(name: "Sec-WebSocket-Protocol", value: SyncEndpoint.subprotocol)
    let upgrade = NIOTypedHTTPClientUpgradeConfiguration<Void>(
      upgradeRequestHead: HTTPRequestHead(
        version: .http1_1, method: .GET, uri: address.folder + SyncEndpoint.path,
        headers: headers),
      upgraders: [upgrader],
      notUpgradingCompletionHandler: { channel in
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(
          Failure(description: "\(url) answers, but is not a Cospool server"))
      })
    return try pipeline.configureUpgradableHTTPClientPipeline(
      configuration: .init(upgradeConfiguration: upgrade))
  }

  private func installInbox(on channel: any Channel) throws {
    let inbox = FrameInbox(
      deliver: { self.continuation.yield($0) },
      finish: { reason in
        self.state.withLock { $0.reason = reason }
        self.continuation.finish()
      })
    let security = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
    let certificateEnd = (security?.peerCertificate?.notValidAfter).map { Int64($0) }
    let isClosed = state.withLock { state in
      state.certificateEnd = certificateEnd
      // A name with several addresses can have several tried channels; this one won.
      state.channel = channel
      state.tried = []
      state.inbox = NIOLoopBound(inbox, eventLoop: channel.eventLoop)
      return state.isClosed
    }
    guard !isClosed else { throw Failure(description: "the connection was given up") }
    try channel.syncOptions?.setOption(.autoRead, value: false)
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(
      NIOWebSocketFrameAggregator(
        minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: Transport.fragmentsMax,
        maxAccumulatedFrameSize: WireLimits.frameBytesMax))
    try pipeline.addHandler(inbox)
  }

  /// The consumer has processed one element of `incoming`, and more may be read.
  func consumed() {
    let (channel, inbox) = state.withLock { ($0.channel, $0.inbox) }
    guard let channel, let inbox else { return }
    channel.eventLoop.execute { inbox.value.consumed() }
  }

  func send(_ bytes: [UInt8]) {
    write(.binary, ByteBuffer(bytes: bytes))
  }

  func ping() {
    write(.ping, ByteBuffer())
  }

  private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    guard let channel = state.withLock({ $0.isClosed ? nil : $0.channel }) else { return }
    channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data), promise: nil)
  }

  /// Sends the closing message and closes; data that was sent before is still written.
  func close() {
    let (channel, tried) = state.withLock { state in
      let isOpen = !state.isClosed && state.inbox != nil
      state.isClosed = true
      defer { state.tried = [] }
      return (isOpen ? state.channel : nil, state.tried)
    }
    for channel in tried { channel.close(promise: nil) }
    guard let channel else {
      continuation.finish()
      return
    }
    var code = ByteBuffer()
    code.write(webSocketErrorCode: .normalClosure)
    channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: code)
    ).whenComplete { _ in
      // The server answers with its own close frame; the wait for a silent server is short.
      channel.eventLoop.scheduleTask(in: .milliseconds(Transport.closeMilliseconds)) {
        channel.close(promise: nil)
      }
    }
    // A peer that does not read never reaches this point.
    channel.eventLoop.scheduleTask(in: .milliseconds(Transport.goodbyeMilliseconds)) {
      channel.close(promise: nil)
    }
  }

  /// Gives up a connection that is not open yet; an open one is not affected.
  func abandonOpening() {
    let tried = state.withLock { state -> [any Channel] in
      guard state.inbox == nil else { return [] }
      state.isClosed = true
      return state.tried
    }
    for channel in tried { channel.close(promise: nil) }
  }

  /// Returns once the socket is closed.
  func waitUntilClosed() async {
    guard let channel = state.withLock({ $0.channel }) else { return }
    // The reason for closing no longer matters.
    try? await channel.closeFuture.get()
  }
}
