package import NIOCore

/// Requests a tunnel from an HTTP proxy (RFC 9110, section 9.3.6), and removes itself once it is
/// open. To the handlers after it, the connection becomes active only then, as if they had connected
/// directly.
///
/// Put it first into a pipeline whose channel connects to the proxy.
package final class ProxyTunnel: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  /// Why there is no tunnel.
  package struct Failure: Error, Hashable, CustomStringConvertible {
    /// The proxy, without its user.
    package var proxy: String
    /// The status of its answer; nil if it answers otherwise than by HTTP, or not at all.
    package var status: Int?

    package var description: String {
      switch status {
      case 407?:
        "the proxy \(proxy) wants a user name and a password. Write them into HTTPS_PROXY: "
          + "http://USER:PASSWORD@HOST:PORT"
      case let status?:
        "the proxy \(proxy) refuses the connection with HTTP status \(status). Ask its operator to "
          + "allow CONNECT to the server, or add the server to NO_PROXY"
      case nil: "\(proxy) does not answer as an HTTP proxy. Check HTTPS_PROXY"
      }
    }
  }

  /// The maximum number of bytes of the head of the proxy's answer.
  private static let headBytesMax = 16_384

  private let proxy: ProxyAddress
  /// The server as the proxy is asked for it: host and port.
  private let target: String
  private var head = ByteBuffer()
  /// What was written before there was a tunnel.
  private var held: [(data: NIOAny, promise: EventLoopPromise<Void>?)] = []
  private var isOver = false

  package init(through proxy: ProxyAddress, to target: String) {
    self.proxy = proxy
    self.target = target
  }

  package func channelActive(context: ChannelHandlerContext) {
    var request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
    if let authorization = proxy.authorization {
      request += "Proxy-Authorization: \(authorization)\r\n"
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request + "\r\n")), promise: nil)
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    var bytes = unwrapInboundIn(data)
    head.writeBuffer(&bytes)
    let view = head.readableBytesView
    guard let end = view.firstRange(of: Array("\r\n\r\n".utf8)) else {
      if view.count > Self.headBytesMax { fail(nil, context) }
      return
    }
    let line = String(decoding: view.prefix { $0 != 13 }, as: UTF8.self).split(separator: " ")
    guard line.count >= 2, line[0].hasPrefix("HTTP/1."), let status = Int(line[1]) else {
      return fail(nil, context)
    }
    guard (200..<300).contains(status) else { return fail(status, context) }
    isOver = true
    head.moveReaderIndex(to: end.upperBound)
    for (data, promise) in held { context.write(data, promise: promise) }
    held = []
    context.flush()
    context.fireChannelActive()
    // A server may speak first.
    if head.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(head)) }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  package func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    if isOver { context.write(data, promise: promise) } else { held.append((data, promise)) }
  }

  package func flush(context: ChannelHandlerContext) {
    if isOver { context.flush() }
  }

  package func channelInactive(context: ChannelHandlerContext) {
    fail(nil, context)
    context.fireChannelInactive()
  }

  private func fail(_ status: Int?, _ context: ChannelHandlerContext) {
    guard !isOver else { return }
    isOver = true
    let failure = Failure(proxy: proxy.place, status: status)
    for (_, promise) in held { promise?.fail(failure) }
    held = []
    context.fireErrorCaught(failure)
    context.close(promise: nil)
  }
}
