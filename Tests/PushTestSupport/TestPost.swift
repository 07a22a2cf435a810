import NIOCore
import NIOHTTP1
import NIOPosix

/// Posts like the app of a provider when a user presses a button. Plain HTTP to this machine.
package enum TestPost {
  package struct Answer: Sendable {
    package var status: Int
    package var text: String
  }

  package struct NotSent: Error {}

  /// - Parameter url: `http://HOST:PORT/PATH`.
  package static func send(
    _ body: String, to url: String, method: String = "POST"
  ) async throws -> Answer {
    let parts = url.dropFirst("http://".count).split(separator: "/", maxSplits: 1)
    let place = parts.first?.split(separator: ":") ?? []
    guard url.hasPrefix("http://"), place.count == 2, let port = Int(place[1]) else {
      throw NotSent()
    }
    let path = "/" + (parts.dropFirst().first ?? "")
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let finished = loop.makePromise(of: Answer.self)
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let operations = channel.pipeline.syncOperations
            try operations.addHTTPClientHandlers()
            try operations.addHandler(AnswerReader(finished: finished))
          }
        }
        .connect(host: String(place[0]), port: port).get()
    } catch {
      finished.fail(error)
      return try await finished.futureResult.get()
    }
    let headers: HTTPHeaders = [
      "host": "localhost", "content-type": "application/json",
      "content-length": "\(body.utf8.count)",
    ]
    let head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: method), uri: path, headers: headers)
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: body))), promise: nil)
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    let answer = try await finished.futureResult.get()
    // The server may have closed it already.
    try? await channel.close()
    return answer
  }
}

private final class AnswerReader: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let finished: EventLoopPromise<TestPost.Answer>
  private var answer = TestPost.Answer(status: 0, text: "")

  init(finished: EventLoopPromise<TestPost.Answer>) {
    self.finished = finished
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): answer.status = Int(head.status.code)
    case .body(let bytes): answer.text += String(buffer: bytes)
    case .end: finished.succeed(answer)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    // Does nothing if the answer was complete.
    finished.fail(TestPost.NotSent())
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    finished.fail(error)
    context.close(promise: nil)
  }
}
