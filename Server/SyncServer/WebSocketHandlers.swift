import NIOCore
import NIOWebSocket
import ServerCore

/// Refuses frames that a client did not mask (RFC 6455, section 5.1).
final class MaskCheck: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocketFrame
  typealias OutboundOut = WebSocketFrame
  private let lingerMilliseconds: Int64
  private var isClosing = false

  init(lingerMilliseconds: Int64) {
    self.lingerMilliseconds = lingerMilliseconds
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    guard unwrapInboundIn(data).maskKey != nil else {
      isClosing = true
      return context.closeWebSocket(.protocolError, within: lingerMilliseconds)
    }
    context.fireChannelRead(data)
  }
}

/// Turns a WebSocket's messages into the driver's events, and keeps the connection alive.
final class WebSocketConnectionHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let driver: ServerDriver
  private let id: ConnectionID
  private let counter: ConnectionCounter
  private var pings: RepeatedTask?
  private var isClosing = false
  /// A ping that waits for its pong.
  private var latestPing: WebSocketFrame?

  init(driver: ServerDriver, id: ConnectionID, counter: ConnectionCounter) {
    self.driver = driver
    self.id = id
    self.counter = counter
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let interval = TimeAmount.milliseconds(driver.options.pings.everyMilliseconds)
    pings = context.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
      let (handler, context) = bound.value
      handler.ping(context: context)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    pings?.cancel()
  }

  func channelInactive(context: ChannelHandlerContext) {
    pings?.cancel()
    driver.closed(id)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // A peer that was sent a close frame gets no second one.
    guard !isClosing else { return }
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary:
      driver.received(Array(frame.unmaskedData.readableBytesView), on: id)
    case .ping:
      driver.receivedControl(frame.data.readableBytes, on: id)
      latestPing = frame
    case .pong:
      driver.receivedControl(frame.data.readableBytes, on: id)
    case .connectionClose:
      isClosing = true
      context.closeWebSocket(
        saying: frame.unmaskedData, within: driver.options.lingerMilliseconds)
    case .text:
      isClosing = true
      context.closeWebSocket(.unacceptableData, within: driver.options.lingerMilliseconds)
    default:
      isClosing = true
      context.closeWebSocket(.protocolError, within: driver.options.lingerMilliseconds)
    }
  }

  /// Answers the latest ping of those that came together (RFC 6455, section 5.5.3).
  func channelReadComplete(context: ChannelHandlerContext) {
    if let ping = latestPing {
      latestPing = nil
      // A client that does not read its pongs gets none.
      if context.channel.isWritable, !isClosing {
        let pong = WebSocketFrame(fin: true, opcode: .pong, data: ping.unmaskedData)
        context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
      }
    }
    context.fireChannelReadComplete()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // NIO's own handler answered the decoder's errors with a close frame; this is a broken socket
    // or too many fragments.
    context.close(promise: nil)
  }

  private func ping(context: ChannelHandlerContext) {
    let silence = driver.clock.now.uptimeMilliseconds - counter.heardAt
    guard silence < driver.options.pings.silenceMilliseconds else {
      return context.close(promise: nil)
    }
    let ping = WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())
    context.writeAndFlush(wrapOutboundOut(ping), promise: nil)
  }
}

extension ChannelHandlerContext {
  /// Sends a close frame with the reason, and closes.
  func closeWebSocket(_ code: WebSocketErrorCode, within milliseconds: Int64) {
    var data = ByteBuffer()
    data.write(webSocketErrorCode: code)
    closeWebSocket(saying: data, within: milliseconds)
  }

  /// Sends a close frame and closes; it does not wait for a peer that does not read.
  func closeWebSocket(saying data: ByteBuffer, within milliseconds: Int64) {
    let channel = channel
    channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
      .whenComplete { _ in channel.close(promise: nil) }
    channel.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
      channel.closeAtOnce()
    }
  }
}
