import NIOCore

/// Holds what was read from a connection until it has its turn, and has no more read than a little:
/// the rest waits in the kernel and with its sender.
///
/// It stands before everything that takes input apart, so that also heads of frames, pings and
/// requests cost no more than a turn allows. What waits when the connection ends is dropped: its sender
/// was told nothing of it.
final class TurnHandler: ChannelDuplexHandler, TurnTaker {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Whose turn it has.
  var group = TurnGroup.strangers
  private let turns: InputTurns
  private var context: ChannelHandlerContext?
  private var input = ByteBuffer()
  private var isWaiting = false
  /// More would be read if less waited.
  private var wantsMore = false

  init(turns: InputTurns) {
    self.turns = turns
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    forget()
  }

  func channelInactive(context: ChannelHandlerContext) {
    forget()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var more = unwrapInboundIn(data)
    if input.readableBytes == 0 { input = more } else { input.writeBuffer(&more) }
    guard !isWaiting, input.readableBytes > 0 else { return }
    isWaiting = true
    turns.wait(self, in: group)
  }

  /// Each turn ends with one of its own.
  func channelReadComplete(context: ChannelHandlerContext) {}

  func read(context: ChannelHandlerContext) {
    wantsMore = input.readableBytes >= InputTurns.waitingBytesMax
    if !wantsMore { context.read() }
  }

  func takeTurn() -> Bool {
    let count = min(input.readableBytes, InputTurns.pieceBytes)
    if count > 0, let context, let piece = input.readSlice(length: count) {
      context.fireChannelRead(wrapInboundOut(piece))
      context.fireChannelReadComplete()
    }
    if wantsMore, input.readableBytes < InputTurns.waitingBytesMax {
      wantsMore = false
      context?.read()
    }
    isWaiting = input.readableBytes > 0
    if !isWaiting { input = ByteBuffer() }
    return isWaiting
  }

  private func forget() {
    context = nil
    input = ByteBuffer()
  }
}
