import NIOCore
import NIOHTTP1

/// Answers requests for files as a test requires.
final class ScriptedFiles: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let server: ScriptedServer
  private var head: HTTPRequestHead?

  init(server: ScriptedServer) {
    self.server = server
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end:
      guard let head, let hash = head.uri.split(separator: "/").last.map(String.init) else {
        return context.close(promise: nil)
      }
      guard !server.script.breaksOff.contains(hash) else { return context.close(promise: nil) }
      var status = HTTPResponseStatus.ok
      switch head.method {
      case .PUT where server.script.refusesFiles: status = .insufficientStorage
      case .PUT:
        server.change { $0.files.insert(hash) }
        status = .created
      case .DELETE: server.change { $0.files.remove(hash) }
      default:
        if !server.script.files.contains(hash) { status = .notFound }
      }
      let reply = HTTPResponseHead(
        version: .http1_1, status: status, headers: ["content-length": "0"])
      context.write(wrapOutboundOut(.head(reply)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}
