import NIOCore

/// Holds what was read from a connection until it has its turn, and has no more read than a little:
/// the rest waits in the kernel and with its sender.
///
/// It stands before everything that takes input apart, so that also heads of frames, pings and
/// requests cost no more than a turn allows. Whoever sends no more is closed once all that waits had
/// its turn; until then it is answered. The channel must allow that the peer closes its half alone.
final class TurnHandler: ChannelDuplexHandler, TurnTaker {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Whose turn it has.
  private(set) var group = TurnGroup.strangers
  private let turns: InputTurns
  private var context: ChannelHandlerContext?
  /// What was read; none of it is empty.
  private var input: CircularBuffer<ByteBuffer> = []
  private var isWaiting = false
  /// More would be read if less waited.
  private var wantsMore = false
  /// The server closes, and waits for no more than the peer's goodbye.
  private var isClosing = false
  private var end: End?

  /// Why nothing more comes.
  private enum End {
    /// The sender said so.
    case said
    /// The socket or TLS failed, or both sides said so: there is nothing left to say.
    case over
  }

  init(turns: InputTurns) {
    self.turns = turns
  }

  private var waitingBytes: Int { input.reduce(0) { $0 + $1.readableBytes } }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    forget()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var more = unwrapInboundIn(data)
    guard more.readableBytes > 0, !isClosing else { return }
    // Each buffer costs more than a byte: those of a few bytes are put together.
    if let last = input.indices.last,
      input[last].readableBytes + more.readableBytes <= InputTurns.pieceBytes
    {
      input.modify(last) { _ = $0.writeBuffer(&more) }
    } else {
      input.append(more)
    }
    guard !isWaiting else { return }
    isWaiting = true
    turns.wait(self)
  }

  /// Each turn ends with one of its own.
  func channelReadComplete(context: ChannelHandlerContext) {}

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let known = event as? DeviceKnown { group = .workspace(known.workspace) }
    guard case ChannelEvent.inputClosed = event else {
      return context.fireUserInboundEventTriggered(event)
    }
    end = isClosing ? .over : end ?? .said
    closeIfDone()
  }

  /// It must not overtake what waits. Whatever comes from the socket or TLS ends the connection.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end = .over
    closeIfDone()
  }

  /// The connection is gone without an end of input, as by a reset: there are no more turns for it, so
  /// a little of what waits is looked at now. It can be the last batch of a device that left in a hurry.
  func channelInactive(context: ChannelHandlerContext) {
    let bytesMax = InputTurns.waitingBytesMax + InputTurns.readingBytesMax
    for _ in 0..<bytesMax / InputTurns.pieceBytes where !input.isEmpty {
      context.fireChannelRead(wrapInboundOut(nextPiece()))
    }
    context.fireChannelReadComplete()
    forget()
    context.fireChannelInactive()
  }

  func read(context: ChannelHandlerContext) {
    wantsMore = waitingBytes >= InputTurns.waitingBytesMax
    if !wantsMore { context.read() }
  }

  /// The server has had enough of it.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    isClosing = true
    input.removeAll()
    context.close(mode: mode, promise: promise)
  }

  func takeTurn() -> Bool {
    if let context, !input.isEmpty {
      context.fireChannelRead(wrapInboundOut(nextPiece()))
      context.fireChannelReadComplete()
    }
    if wantsMore, waitingBytes < InputTurns.waitingBytesMax {
      wantsMore = false
      context?.read()
    }
    isWaiting = !input.isEmpty
    closeIfDone()
    return isWaiting
  }

  private func nextPiece() -> ByteBuffer {
    let piece = input.modify(input.startIndex) { reading in
      let count = min(reading.readableBytes, InputTurns.pieceBytes)
      return reading.readSlice(length: count) ?? ByteBuffer()
    }
    if input.first?.readableBytes == 0 { input.removeFirst() }
    return piece
  }

  private func closeIfDone() {
    guard let end, let context, !isWaiting else { return }
    switch end {
    case .said: context.close(promise: nil)
    case .over: context.channel.closeAtOnce()
    }
  }

  private func forget() {
    context = nil
    input.removeAll()
  }
}
