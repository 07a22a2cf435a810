import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import WireProtocol

/// The WebSocket of one device under load.
final class LoadConnection: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let device: LoadDevice
  private var reason = "the connection ended"

  private init(_ device: LoadDevice) {
    self.device = device
  }

  /// Connects a device on its event loop; the device reports all further events.
  static func open(_ device: LoadDevice, port: Int, on loop: any EventLoop) {
    let bound = NIOLoopBound(device, eventLoop: loop)
    let upgrading = loop.makePromise(of: Void.self)
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(.seconds(30))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try upgrade(channel, bound).map { bound.value.opened(channel) }.cascade(to: upgrading)
        }
      }
    // A connection that fails before its upgrade began never completes the promise.
    bootstrap.connect(host: "127.0.0.1", port: port).whenFailure { upgrading.fail($0) }
    upgrading.futureResult.whenFailure { bound.value.ended("no connection: \($0)") }
  }

  static func message(_ bytes: [UInt8]) -> WebSocketFrame {
    WebSocketFrame(fin: true, opcode: .binary, maskKey: .random(), data: ByteBuffer(bytes: bytes))
  }

  private static func upgrade(
    _ channel: any Channel, _ device: NIOLoopBound<LoadDevice>
  ) throws -> EventLoopFuture<Void> {
    let upgrader = NIOTypedWebSocketClientUpgrader<Void>(
      maxFrameSize: WireLimits.frameBytesMax,
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(LoadConnection(device.value))
        }
      })
    let headers: HTTPHeaders = [
      "Host": "127.0.0.1", "Content-Length": "0", "Sec-WebSocket-Protocol": "cospool.v1",
    ]
    let configuration = NIOTypedHTTPClientUpgradeConfiguration<Void>(
      upgradeRequestHead: HTTPRequestHead(
        version: .http1_1, method: .GET, uri: "/v1/sync", headers: headers),
      upgraders: [upgrader],
      notUpgradingCompletionHandler: { channel in
        channel.eventLoop.makeFailedFuture(BenchFailure("the server does not upgrade"))
      })
    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
      configuration: .init(upgradeConfiguration: configuration))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary:
      do {
        let bytes = Array(frame.unmaskedData.readableBytesView)
        try device.received(FrameCodec.decode(bytes), at: .now())
      } catch {
        reason = "\(error)"
        context.close(promise: nil)
      }
    case .ping:
      let pong = WebSocketFrame(
        fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .connectionClose:
      context.close(promise: nil)
    default:
      break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    device.ended(reason)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    reason = "\(error)"
    context.close(promise: nil)
  }
}
