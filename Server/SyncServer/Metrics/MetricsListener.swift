import NIOCore
import NIOHTTP1
import NIOPosix
import NetworkAddresses
import Observability
import Synchronization

/// Serves `GET /metrics` on its own port, so that a proxy for devices does not expose it.
///
/// Each connection gets one request within ten seconds, and the number of connections is limited.
/// So a flood of the port cannot use up descriptors that devices need.
enum MetricsListener {
  static let path = "/metrics"
  /// The maximum number of open connections. A metrics reader uses one.
  static let connectionsMax = 16
  private static let seconds: Int64 = 10

  static func listen(
    _ address: MetricsAddress, group: MultiThreadedEventLoopGroup,
    driver: NIOLoopBound<ServerDriver>
  ) async throws -> any Channel {
    let open = ConnectionCount(max: connectionsMax)
    return try await ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
        }
      }
      .childChannelInitializer { channel in
        guard open.take() else {
          return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        channel.closeFuture.whenComplete { _ in open.giveBack() }
        return channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.configureHTTPServerPipeline()
          try pipeline.addHandler(MetricsRequestHandler(driver: driver.value, host: address.host))
          channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
            channel.close(mode: .all, promise: nil)
          }
        }
      }
      .bind(host: address.host, port: address.port).get()
  }
}

/// The number of open connections.
private final class ConnectionCount: Sendable {
  private let max: Int
  private let count = Mutex(0)

  init(max: Int) {
    self.max = max
  }

  /// Counts one more, if there is room for it.
  func take() -> Bool {
    count.withLock { count in
      guard count < max else { return false }
      count += 1
      return true
    }
  }

  func giveBack() {
    count.withLock { $0 -= 1 }
  }
}

/// The address of the metrics: `HOST:PORT`, `[ADDRESS]:PORT`, or `PORT`, on this machine only.
package struct MetricsAddress: Hashable, Sendable {
  package var host: String
  package var port: Int

  package init?(_ text: String) {
    if let port = Int(text), (0...65_535).contains(port) {
      self.init(host: "127.0.0.1", port: port)
      return
    }
    guard let colon = text.lastIndex(of: ":"),
      let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty else { return nil }
    self.init(host: String(host), port: port)
  }

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// Whether a request's Host can be this server's. A web page whose name resolves to this address
  /// (DNS rebinding) requests it by that name, which has a dot. So scripts from other sites cannot
  /// read the metrics.
  ///
  /// - Parameter host: the host that `--metrics` names.
  static func isOwn(_ field: String, boundTo host: String) -> Bool {
    var name = field[...]
    if name.hasPrefix("["), let end = name.firstIndex(of: "]") {
      let port = name[name.index(after: end)...]
      guard port.isEmpty || port.hasPrefix(":") else { return false }
      name = name[name.index(after: name.startIndex)..<end]
    } else if let colon = name.lastIndex(of: ":"), name[..<colon].contains(":") == false {
      name = name[..<colon]
    }
    return !name.contains(".") || InternetAddress(name) != nil
      || name.lowercased() == host.lowercased()
  }
}

private final class MetricsRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let driver: ServerDriver
  /// The host that `--metrics` names.
  private let host: String
  private var head: HTTPRequestHead?

  init(driver: ServerDriver, host: String) {
    self.driver = driver
    self.host = host
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end: answer(context)
    }
  }

  private func answer(_ context: ChannelHandlerContext) {
    guard let head else { return }
    self.head = nil
    guard head.headers["host"].allSatisfy({ MetricsAddress.isOwn($0, boundTo: host) }) else {
      return write(
        .misdirectedRequest,
        "Use an IP address, a name without a dot, or the name in --metrics.\n",
        context)
    }
    let path = head.uri.split(separator: "?", omittingEmptySubsequences: false).first ?? ""
    guard path == MetricsListener.path else {
      return write(.notFound, "There is only \(MetricsListener.path) here.\n", context)
    }
    guard head.method == .GET || head.method == .HEAD else {
      return write(.methodNotAllowed, "Use GET.\n", context)
    }
    let options = driver.options
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    driver.files.thread.runIfActive(eventLoop: context.eventLoop) { ServerFileMetrics(options) }
      .whenComplete { result in
        let (handler, context) = bound.value
        // The server stops: requests get no answer.
        guard case .success(let files) = result else {
          return context.close(promise: nil)
        }
        handler.write(.ok, handler.driver.metricsPage(files), context)
      }
  }

  private func write(
    _ status: HTTPResponseStatus, _ text: String, _ context: ChannelHandlerContext
  ) {
    guard context.channel.isActive else { return }
    let headers: HTTPHeaders = [
      "content-type": status == .ok ? MetricsPage.contentType : "text/plain; charset=utf-8",
      "content-length": "\(text.utf8.count)", "cache-control": "no-store", "connection": "close",
    ]
    let response = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      bound.value.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
