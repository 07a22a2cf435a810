import NIOCore

/// Holds the input of a connection until it has its turn, and limits reading: the rest waits in the
/// kernel and at the sender.
///
/// It comes before everything that parses input, so that heads of frames, pings and requests also
/// cost no more than a turn allows. A peer that has stopped sending gets answers until all its
/// input has had its turn, and is then closed. The channel must allow the peer to close its half.
final class TurnHandler: ChannelDuplexHandler, TurnTaker {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The group whose turn it uses.
  private(set) var group = TurnGroup.strangers
  private let turns: InputTurns
  private var context: ChannelHandlerContext?
  /// The input; no buffer is empty.
  private var input: CircularBuffer<ByteBuffer> = []
  private var isWaiting = false
  /// Whether reading is paused until less input waits.
  private var wantsMore = false
  /// Whether the server is closing, and waits only for the peer's close.
  private var isClosing = false
  private var end: End?

  /// The reason for the end of the input.
  private enum End {
    /// The sender ended its half.
    case halfClosed
    /// The socket or TLS failed, or both sides ended: no answer is possible.
    case failed
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
    // Each buffer costs more than a byte, so small ones are joined.
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

  /// Each turn ends with its own event.
  func channelReadComplete(context: ChannelHandlerContext) {}

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let known = event as? DeviceKnown { group = .workspace(known.workspace) }
    guard case ChannelEvent.inputClosed = event else {
      return context.fireUserInboundEventTriggered(event)
    }
    end = isClosing ? .failed : end ?? .halfClosed
    closeIfDone()
  }

  /// The error must not overtake waiting input. An error of the socket or TLS ends the connection.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end = .failed
    closeIfDone()
  }

  /// The connection has ended without an end of input, for example by a reset. It gets no more
  /// turns, so a little of the waiting input is processed now. It can be the last batch of a device
  /// that left in a hurry.
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

  /// The server closes the connection.
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
    case .halfClosed: context.close(promise: nil)
    case .failed: context.channel.closeAtOnce()
    }
  }

  private func forget() {
    context = nil
    input.removeAll()
  }
}
