import NIOCore
import NIOWebSocket

/// The end of the pipeline. Delivers whole messages, together with others of the same read, and
/// answers pings and closing. Reads from the socket only while the consumer keeps up.
final class FrameInbox: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let deliver: ([Transport.Incoming]) -> Void
  private let finish: (String) -> Void
  private var reason = "the connection ended"
  private var isEnding = false
  /// The messages of this read so far.
  private var read: [Transport.Incoming] = []
  private var unconsumed = 0
  private var context: ChannelHandlerContext?

  init(
    deliver: @escaping ([Transport.Incoming]) -> Void, finish: @escaping (String) -> Void
  ) {
    self.deliver = deliver
    self.finish = finish
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    context.read()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    handOver()
    finish(reason)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary:
      read.append(.message(Array(frame.unmaskedData.readableBytesView)))
    case .ping:
      let pong = WebSocketFrame(
        fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
      read.append(.heard)
    case .pong:
      read.append(.heard)
    case .connectionClose:
      isEnding = true
      reason = "the server closed the connection"
      let answer = WebSocketFrame(
        fin: true, opcode: .connectionClose, maskKey: .random(), data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(answer)).assumeIsolated().whenComplete { _ in
        context.close(promise: nil)
      }
    default:
      isEnding = true
      reason = "the server sent a message that is not binary"
      context.close(promise: nil)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    handOver()
    if unconsumed == 0 { context.read() }
    context.fireChannelReadComplete()
  }

  private func handOver() {
    guard !read.isEmpty else { return }
    unconsumed += 1
    deliver(read)
    read = []
  }

  /// The consumer has processed one delivery.
  func consumed() {
    unconsumed -= 1
    if unconsumed == 0 { context?.read() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    handOver()
    finish(reason)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // TLS reports an end without its closing handshake as an error; an earlier reason is more
    // useful.
    if !isEnding { reason = "\(error)" }
    context.close(promise: nil)
  }
}
