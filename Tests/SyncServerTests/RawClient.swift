import Basics
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import SyncServer
import WireProtocol

/// A WebSocket client that sends anything, right or wrong.
final class RawClient: Sendable {
  enum Event: Sendable {
    case frame(Frame)
    case ping
    /// The server's close frame.
    case closing(UInt16?)
    /// The TCP connection is gone.
    case gone
  }

  /// The input of a client with a slow uplink. Its event loop sends it, so that a test that waits
  /// for its turn on a busy machine delays nothing.
  struct SlowSending {
    /// Sent at once.
    var first: Frame
    /// Sent byte by byte, one with each ping; the rest after the time, at once.
    var bytes: ArraySlice<UInt8>
    var time: TimeAmount
  }

  struct TimedOut: Error {}
  struct NotUpgraded: Error {}

  let channel: any Channel
  private let events: EventQueue

  private init(channel: any Channel, events: EventQueue) {
    self.channel = channel
    self.events = events
  }

  static func connect(
    port: Int, path: String = SyncEndpoint.path, subprotocol: String? = SyncEndpoint.subprotocol,
    answersPings: Bool = true, slowly: SlowSending? = nil, from address: String? = nil,
    forwardedFor: String? = nil
  ) async throws -> RawClient {
    let events = EventQueue()
    let group = MultiThreadedEventLoopGroup.singleton
    let upgraded = group.next().makePromise(of: Void.self)
    var bootstrap = ClientBootstrap(group: group)
    if let address {
      bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: address, port: 0))
    }
    let channel =
      try await bootstrap
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: 1 << 24) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(
                RawClientHandler(events: events, answersPings: answersPings, slowly: slowly))
              upgraded.succeed()
            }
          }
          var headers: HTTPHeaders = ["Host": "127.0.0.1", "Content-Length": "0"]
          if let subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
          if let forwardedFor { headers.add(name: "X-Forwarded-For", value: forwardedFor) }
          let request = UpgradeRequest(path: path, headers: headers, upgraded: upgraded)
          let bound = NIOLoopBound(request, eventLoop: channel.eventLoop)
          try channel.pipeline.syncOperations.addHTTPClientHandlers(
            withClientUpgrade: (
              upgraders: [upgrader],
              completionHandler: { context in
                context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
              }
            ))
          try channel.pipeline.syncOperations.addHandler(request)
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    try await upgraded.futureResult.get()
    return RawClient(channel: channel, events: events)
  }

  func send(_ frame: Frame) async throws {
    try await send(bytes: FrameCodec.encode(frame))
  }

  /// Sends a frame, and ends its half of the connection at once.
  func sendLast(_ frame: Frame) async throws {
    let channel = channel
    let data = ByteBuffer(bytes: FrameCodec.encode(frame))
    try await channel.eventLoop.flatSubmit {
      channel.writeAndFlush(
        WebSocketFrame(fin: true, opcode: .binary, maskKey: [1, 2, 3, 4], data: data), promise: nil)
      return channel.close(mode: .output)
    }.get()
  }

  func send(
    bytes: [UInt8], opcode: WebSocketOpcode = .binary, isFinal: Bool = true, isMasked: Bool = true
  ) async throws {
    let frame = WebSocketFrame(
      fin: isFinal, opcode: opcode, maskKey: isMasked ? [1, 2, 3, 4] : nil,
      data: ByteBuffer(bytes: bytes))
    try await channel.writeAndFlush(frame)
  }

  /// Sends only the head of a masked binary frame. A server that refuses the length has then read
  /// everything, so its answer is not lost in a reset.
  func sendHead(announcing length: UInt64) async throws {
    var head = ByteBuffer(bytes: [0x82, 0xFF])
    head.writeInteger(length)
    head.writeBytes([1, 2, 3, 4])
    try await send(raw: Array(head.readableBytesView))
  }

  /// Sends bytes unchanged, without a frame.
  func send(raw bytes: [UInt8]) async throws {
    let channel = channel
    let buffer = ByteBuffer(bytes: bytes)
    try await channel.eventLoop.flatSubmit {
      do {
        let encoder = try channel.pipeline.syncOperations.context(
          handlerType: WebSocketFrameEncoder.self)
        return encoder.writeAndFlush(NIOAny(buffer))
      } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.get()
  }

  /// The next event; fails after a minute, so that a test cannot hang.
  func next() async throws -> Event {
    try await events.next()
  }

  /// The next frame, pings skipped.
  func frame() async throws -> Frame? {
    while true {
      switch try await next() {
      case .frame(let frame): return frame
      case .ping: continue
      case .closing, .gone: return nil
      }
    }
  }

  /// Frames up to the first that fits; nil if the connection ends before.
  func frame(where fits: (Frame) -> Bool) async throws -> Frame? {
    while let frame = try await frame() {
      if fits(frame) { return frame }
    }
    return nil
  }

  /// Waits for the end of the connection.
  ///
  /// - Returns: the server's close code, nil if there was none.
  func end() async throws -> UInt16? {
    var code: UInt16?
    while true {
      switch try await next() {
      case .frame, .ping: continue
      case .closing(let given): code = given
      case .gone: return code
      }
    }
  }

  func close() async {
    // It may be closed already.
    try? await channel.close()
  }
}

/// Hands events from the event loop to one waiting test.
final class EventQueue: Sendable {
  private let stream: AsyncStream<RawClient.Event>
  private let continuation: AsyncStream<RawClient.Event>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  func put(_ event: RawClient.Event) {
    continuation.yield(event)
  }

  func next() async throws -> RawClient.Event {
    let stream = stream
    return try await withThrowingTaskGroup(of: RawClient.Event?.self) { group in
      group.addTask {
        for await event in stream { return event }
        return nil
      }
      group.addTask {
        try await Task.sleep(for: .seconds(60))
        return nil
      }
      defer { group.cancelAll() }
      guard let event = try await group.next() ?? nil else { throw RawClient.TimedOut() }
      return event
    }
  }
}

private final class RawClientHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let events: EventQueue
  private let answersPings: Bool
  private var slowly: RawClient.SlowSending?
  private let start = NIODeadline.now()

  init(events: EventQueue, answersPings: Bool, slowly: RawClient.SlowSending?) {
    self.events = events
    self.answersPings = answersPings
    self.slowly = slowly
  }

  func handlerAdded(context: ChannelHandlerContext) {
    guard let first = slowly?.first else { return }
    context.writeAndFlush(
      wrapOutboundOut(
        WebSocketFrame(
          fin: true, opcode: .binary, maskKey: [1, 2, 3, 4],
          data: ByteBuffer(bytes: FrameCodec.encode(first)))), promise: nil)
    sendSlowly(context: context)
  }

  private func sendSlowly(context: ChannelHandlerContext) {
    guard var sending = slowly else { return }
    let isOver = NIODeadline.now() - start > sending.time
    let piece = sending.bytes.prefix(isOver ? sending.bytes.count : 1)
    // The last byte waits for the end of the time.
    guard piece.count < sending.bytes.count || isOver else { return }
    sending.bytes.removeFirst(piece.count)
    slowly = sending
    guard
      let encoder = try? context.pipeline.syncOperations.context(
        handlerType: WebSocketFrameEncoder.self)
    else { return }
    encoder.writeAndFlush(NIOAny(ByteBuffer(bytes: piece)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .binary:
      if let decoded = try? FrameCodec.decode(Array(frame.data.readableBytesView)) {
        events.put(.frame(decoded))
      }
    case .ping:
      events.put(.ping)
      sendSlowly(context: context)
      guard answersPings else { return }
      context.writeAndFlush(
        wrapOutboundOut(
          WebSocketFrame(fin: true, opcode: .pong, maskKey: [1, 2, 3, 4], data: frame.data)),
        promise: nil)
    case .connectionClose:
      var data = frame.data
      events.put(.closing(data.readInteger(as: UInt16.self)))
      context.close(promise: nil)
    default:
      break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    events.put(.gone)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

private final class UpgradeRequest: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let path: String
  private let headers: HTTPHeaders
  private let upgraded: EventLoopPromise<Void>

  init(path: String, headers: HTTPHeaders, upgraded: EventLoopPromise<Void>) {
    self.path = path
    self.headers = headers
    self.upgraded = upgraded
  }

  func channelActive(context: ChannelHandlerContext) {
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    upgraded.fail(RawClient.NotUpgraded())
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    upgraded.fail(RawClient.NotUpgraded())
  }
}
