import Basics
import NIOCore
import NIOHTTP1
import PushDelivery

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Answers plain HTTP: `/healthz`, the files of attachments, posts of buttons, and 404 for the
/// rest.
///
/// Four routes need no router: one upgrades to WebSocket, and these are the other three.
final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// Bytes of an answer that are written at a time.
  private static let partBytes = 64 << 10

  private let driver: ServerDriver
  private var head: HTTPRequestHead?
  private var blobs: BlobConversation?
  /// The route of the request that is being read.
  private var route = Route.other

  private enum Route {
    case blob
    case answer(AnswerConversation)
    /// It was refused before its end.
    case refused
    case other
  }

  init(driver: ServerDriver) {
    self.driver = driver
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): received(head, context: context)
    case .body(let bytes):
      switch route {
      case .blob: blobs?.received(bytes)
      case .answer(let answer):
        if !answer.received(bytes) {
          route = .refused
          write(.tooLarge, goesOn: false, context: context)
        }
      case .refused, .other: break
      }
    case .end:
      let ended = route
      route = .other
      switch ended {
      case .blob: blobs?.receivedEnd()
      case .answer(let answer): post(answer.bytes, context: context)
      case .refused: break
      case .other:
        if let head { respond(to: head, context: context) }
        head = nil
      }
    }
  }

  private func received(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
    guard driver.requested(head, on: context.channel) else { return }
    if head.uri.hasPrefix(BlobRequest.pathPrefix) {
      route = .blob
      conversation(context).received(head)
    } else if head.uri == NtfyAnswering.path {
      if let refusal = AnswerConversation.refusal(of: head) {
        route = .refused
        write(refusal, goesOn: false, context: context)
      } else {
        route = .answer(AnswerConversation())
      }
    } else {
      self.head = head
    }
  }

  /// A button's post is complete.
  private func post(_ body: [UInt8], context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    driver.answer(body, from: driver.sockets.source(of: context.channel)).whenSuccess { reply in
      let (handler, context) = bound.value
      handler.write(reply, goesOn: false, context: context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    blobs?.end()
    // The conversation refers back to this handler.
    blobs = nil
    context.fireChannelInactive()
  }

  private func conversation(_ context: ChannelHandlerContext) -> BlobConversation {
    if let blobs { return blobs }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let fresh = BlobConversation(driver: driver, channel: context.channel) { reply, goesOn in
      let (handler, context) = bound.value
      return handler.write(reply, goesOn: goesOn, context: context)
    }
    blobs = fresh
    return fresh
  }

  /// - Returns: a future that completes when the answer is written.
  @discardableResult
  private func write(
    _ reply: HTTPReply, goesOn: Bool, context: ChannelHandlerContext
  ) -> EventLoopFuture<Void> {
    guard context.channel.isActive else {
      return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
    }
    var headers: HTTPHeaders = ["cache-control": "no-store"]
    for (name, value) in reply.headers { headers.add(name: name, value: value) }
    headers.add(
      name: "content-type",
      value: reply.isFile ? "application/octet-stream" : "text/plain; charset=utf-8")
    headers.add(name: "content-length", value: "\(reply.length ?? reply.body.count)")
    if !goesOn { headers.add(name: "connection", value: "close") }
    let response = HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    write(body: reply.body, context: context)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    return context.writeAndFlush(wrapOutboundOut(.end(nil))).always { _ in
      if !goesOn { bound.value.close(promise: nil) }
    }
  }

  /// Writes in parts, to see the progress of a slow client.
  private func write(body: [UInt8], context: ChannelHandlerContext) {
    var rest = ByteBuffer(bytes: body)
    while let part = rest.readSlice(length: min(HTTPRequestHandler.partBytes, rest.readableBytes)),
      part.readableBytes > 0
    {
      let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
      context.write(wrapOutboundOut(.body(.byteBuffer(part)))).whenSuccess {
        bound.value.blobs?.wrote(part.readableBytes)
      }
    }
  }

  /// A time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func date(_ seconds: time_t) -> String {
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    var seconds = seconds
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(padded).joined(separator: ":")
    return "\(days[Int(parts.tm_wday)]), \(padded(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
      + "\(parts.tm_year + 1900) \(clock) GMT"
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func respond(to head: HTTPRequestHead, context: ChannelHandlerContext) {
    let path = head.uri.split(separator: "?", omittingEmptySubsequences: false).first ?? ""
    let isRead = head.method == .GET || head.method == .HEAD
    let (status, body): (HTTPResponseStatus, String)
    var headers: HTTPHeaders = ["connection": "close", "cache-control": "no-store"]
    if path == "/healthz", isRead {
      let isHealthy = driver.isHealthy
      status = isHealthy ? .ok : .serviceUnavailable
      // Strangers can read this, so it contains nothing else.
      body = #"{"status":"\#(isHealthy ? "ok" : "unavailable")"}"# + "\n"
      headers.add(name: "content-type", value: "application/json")
      // Devices compare their clocks with it.
      headers.add(name: "date", value: HTTPRequestHandler.date(time(nil)))
    } else if path == SyncEndpoint.path {
      status = .upgradeRequired
      body = "This is a WebSocket endpoint, subprotocol \(SyncEndpoint.subprotocol).\n"
      headers.add(name: "content-type", value: "text/plain; charset=utf-8")
      headers.add(name: "upgrade", value: "websocket")
    } else {
      status = .notFound
      body = "There is nothing here.\n"
      headers.add(name: "content-type", value: "text/plain; charset=utf-8")
    }
    headers.add(name: "content-length", value: "\(body.utf8.count)")
    let response = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    if head.method != .HEAD {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
    }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      bound.value.close(promise: nil)
    }
  }
}
