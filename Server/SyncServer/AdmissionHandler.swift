import NIOCore
import ServerCore

/// The first handler in a channel's pipeline, after TLS, until its device is known. It counts every
/// raw byte, and closes a connection that takes too long to become a WebSocket, its TLS handshake
/// included.
///
/// Without it, a client could hold a connection with half a handshake or half a request, or fill
/// memory with a large frame that never ends.
final class AdmissionHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let driver: ServerDriver
  let acceptedAt: ServerTime
  /// Set when the connection became a WebSocket; from then on, the core counts.
  var connection: ConnectionID?
  private var bytes = 0
  private var deadline: Scheduled<Void>?

  init(driver: ServerDriver) {
    self.driver = driver
    acceptedAt = driver.clock.now
  }

  func channelActive(context: ChannelHandlerContext) {
    let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let limit = TimeAmount.milliseconds(driver.options.core.admission.milliseconds)
    deadline = context.eventLoop.scheduleTask(in: limit) {
      let (gate, context) = gate.value
      if gate.connection == nil { context.channel.closeAtOnce() }
    }
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let count = unwrapInboundIn(data).readableBytes
    if let connection {
      driver.received(count, on: connection)
    } else {
      bytes += count
      guard bytes <= driver.options.core.admission.bytesMax else {
        return context.channel.closeAtOnce()
      }
    }
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Called before it leaves the pipeline, because it forwards nothing afterwards.
    context.fireUserInboundEventTriggered(event)
    guard event is DeviceKnown else { return }
    deadline?.cancel()
    driver.sockets.authenticated(context.channel)
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}

/// Notifies the driver when a TCP connection has ended, whatever its use. Records when bytes last
/// arrived: half a frame is also a sign of life.
final class ConnectionCounter: ChannelInboundHandler {
  typealias InboundIn = NIOAny

  private let driver: ServerDriver
  /// When bytes last arrived, by the server's uptime.
  private(set) var heardAt: Int64

  init(driver: ServerDriver) {
    self.driver = driver
    heardAt = driver.clock.now.uptimeMilliseconds
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    heardAt = driver.clock.now.uptimeMilliseconds
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    driver.channelClosed(context.channel)
    context.fireChannelInactive()
  }
}
