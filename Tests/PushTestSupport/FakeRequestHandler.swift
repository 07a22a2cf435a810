import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Collects one request after the other and follows the fake's script.
final class FakeRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let connection: Int
  /// The channel of the whole connection, if this is one stream of it (HTTP/2).
  private let whole: (any Channel)?
  /// Turns a recorded request into an answer.
  private let respond: (RecordedRequest) -> FakeAnswer
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  init(
    connection: Int, streamOf whole: (any Channel)? = nil,
    respond: @escaping (RecordedRequest) -> FakeAnswer
  ) {
    self.connection = connection
    self.whole = whole
    self.respond = respond
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body = []
    case .body(let buffer): body += Array(buffer.readableBytesView)
    case .end:
      guard let head else { return }
      self.head = nil
      let request = RecordedRequest(
        method: head.method.rawValue, path: head.uri, headers: head.headers, body: body,
        connection: connection)
      act(respond(request), context: context)
    }
  }

  private func act(_ answer: FakeAnswer, context: ChannelHandlerContext) {
    switch answer {
    case .status(let status, let headers, let text):
      var fields = HTTPHeaders(headers.map { ($0.0.lowercased(), $0.1) })
      fields.add(name: "content-length", value: String(text.utf8.count))
      write(status, fields, context: context)
      // An empty frame of data would keep the library from sending what other streams wrote.
      if !text.isEmpty {
        let body = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text)))
        context.write(wrapOutboundOut(body), promise: nil)
      }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    case .silence: break
    case .unfinished(let status):
      write(status, ["content-length": "100"], context: context)
      context.flush()
    case .reset:
      // On a stream of HTTP/2 this sends RST_STREAM.
      context.close(promise: nil)
    case .goAway:
      guard let whole else {
        context.close(promise: nil)
        return
      }
      let frame = HTTP2Frame(
        streamID: .rootStream,
        payload: .goAway(
          lastStreamID: .rootStream, errorCode: .noError,
          opaqueData: ByteBuffer(string: #"{"reason":"Shutdown"}"#)))
      whole.writeAndFlush(frame).whenComplete { _ in whole.close(promise: nil) }
    case .close: (whole ?? context.channel).close(promise: nil)
    }
  }

  private func write(_ status: Int, _ headers: HTTPHeaders, context: ChannelHandlerContext) {
    let head = HTTPResponseHead(
      version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
